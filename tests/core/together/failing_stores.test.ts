/*
 * A store that fails at any step of a request with several limits: units and permits are afterwards as
 * if the request had never been made.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { memoryStore, type Store, StoreUnavailableError } from "../../../mod.ts";
import { lease } from "../../../stores/layered/lease.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore, type SeenCall } from "../../support/intercepted_store.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { WAYS } from "../../support/several_limits.ts";

/** How a call of the store fails. */
type Fault = "throws" | "hangs" | "is applied and hangs";

const FAULTS: readonly Fault[] = ["throws", "hangs", "is applied and hangs"];

/** More calls than a request makes. */
const MOST_CALLS = 12;

/** A store one of whose calls fails. */
function failing(inner: Store, fault: Fault, step: number) {
  const seen: { failed: readonly SeenCall[] | undefined } = { failed: undefined };
  let calls = 0;
  const store = interceptedStore(inner, (operations, proceed) => {
    if (++calls !== step) return proceed();
    seen.failed = operations;
    const fail = () => {
      const applied = fault === "throws" ? "no" : "unknown";
      throw new StoreUnavailableError(`Cannot decide because the store ${fault}`, applied);
    };
    if (fault === "is applied and hangs") {
      const answers: unknown = proceed();
      if (answers instanceof Promise) return answers.then(fail);
    }
    return fail();
  });
  return { store, seen };
}

let trials = 0;

/** Fails each call of each way on each number of limits. */
async function failEachStep(inner: Store, name: string): Promise<void> {
  const { least, holds, open } = WAYS[name]!;
  for (const fault of FAULTS) {
    for (let count = least; count <= 4; count++) {
      for (let step = 1; step <= MOST_CALLS; step++) {
        const { store, seen } = failing(inner, fault, step);
        const request = open(store, inner, `trial${trials++}`, count);
        const before = await request.left();
        const outcome = await request.ask().catch((error: unknown) => error);
        if (seen.failed === undefined) {
          assert.equal(outcome, true);
          break;
        }
        const text = `${count} limits, call ${step} ${fault}`;
        assert.ok(step < MOST_CALLS, text);
        if (typeof outcome === "boolean") continue; // The failed call gave something back.
        assert.ok(outcome instanceof StoreUnavailableError, `${text}: ${outcome}`);
        const after = await request.left();
        // Nobody knows which units a call took that was applied and not answered.
        const isKnown = (at: number) =>
          fault !== "is applied and hangs" || (holds && at === count - 1) ||
          !seen.failed!.some(({ key }) => key.includes(`key${at}`));
        after.forEach((left, at) => {
          if (isKnown(at)) assert.equal(left, before[at], `${text}: limit ${at}`);
        });
      }
    }
  }
}

/** Has each limit refuse. */
async function refuseEach(inner: Store, name: string): Promise<void> {
  const { least, open, isAllOrNone } = WAYS[name]!;
  if (!isAllOrNone) return;
  for (let count = least; count <= 4; count++) {
    for (let index = 0; index < count; index++) {
      const request = open(inner, inner, `trial${trials++}`, count);
      await request.useUp(index);
      const before = await request.left();
      assert.equal(before[index], 0);
      assert.equal(await request.ask(), false, `${count} limits, ${index} refuses`);
      assert.deepEqual(await request.left(), before, `${count} limits, ${index} refuses`);
    }
  }
}

function laws(storeOf: () => Store): void {
  for (const name of Object.keys(WAYS)) {
    test(`${name}: a failure at any step leaves no trace`, () => failEachStep(storeOf(), name));
    test(`${name}: a refusal leaves no trace`, () => refuseEach(storeOf(), name));
  }
}

describe("several limits on memory", () => laws(() => memoryStore()));
describe("several limits on a store that answers by promises", () => laws(asyncMemoryStore));
withRedis("several limits on Redis", (_redis, { storeOf }) => laws(() => storeOf()));

void lease;
