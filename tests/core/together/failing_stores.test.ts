/*
 * A store that fails at any step of a request with several limits: units and permits are afterwards as
 * if the request had never been made.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import {
  type AsyncLimiter,
  gcra,
  limiter,
  memoryStore,
  type Store,
  StoreUnavailableError,
} from "../../../mod.ts";
import { wrapStore } from "../../../core/wrap_store.ts";
import { lease } from "../../../stores/layered/lease.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore, type SeenCall } from "../../support/intercepted_store.ts";
import type { RedisProcess } from "../../support/redis/redis_process.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { WAYS } from "../../support/several_limits.ts";

/** How a call of the store fails. */
type Fault = "throws" | "hangs" | "is applied and hangs";

const FAULTS: readonly Fault[] = ["throws", "hangs", "is applied and hangs"];

const RATE = { limit: 1, period: "1s", burst: 1 } as const;

/** How long a call waits for a server that is stopped, in milliseconds. */
const FROZEN = { deadline: 100, timeout: 300 };

/** More calls than a request makes. */
const MOST_CALLS = 24;

/** A store one of whose calls fails, counted from when `arm` is called until `disarm` is. */
function failing(inner: Store, fault: Fault, step: number) {
  let failed: readonly SeenCall[] | undefined;
  let calls = -Infinity;
  const store = interceptedStore(inner, (operations, proceed) => {
    if (++calls !== step) return proceed();
    failed = operations;
    const fail = () => {
      const applied = fault === "throws" ? "no" : "unknown";
      throw new StoreUnavailableError(`Cannot decide because the store ${fault}`, applied);
    };
    if (fault !== "is applied and hangs") return fail();
    const answers: unknown = proceed();
    return answers instanceof Promise ? answers.then(fail) : fail();
  });
  const arm = () => void (calls = 0);
  const disarm = () => {
    calls = -Infinity;
    return failed;
  };
  return { store, arm, disarm };
}

let trials = 0;

/** Fails each call of each way, on the fewest limits and on four. */
async function failEachStep(inner: Store, name: string, isLeased: boolean): Promise<void> {
  const { least, holds, open } = WAYS[name]!;
  for (const fault of FAULTS) {
    for (const count of [least, 4]) {
      for (let step = 1; step <= MOST_CALLS; step++) {
        const { store: own, arm, disarm } = failing(inner, fault, step);
        const store = isLeased ? lease(own, { units: 2, ttl: "1h" }) : own;
        const request = open(store, isLeased ? store : inner, `trial${trials++}`, count);
        const before = await request.left();
        arm();
        const outcome = await request.ask().catch((error: unknown) => error);
        const failed = disarm();
        const text = `${count} limits, call ${step} ${fault}`;
        if (failed === undefined) {
          assert.equal(outcome, true, text);
          break;
        }
        assert.ok(step < MOST_CALLS, text);
        assert.ok(outcome instanceof StoreUnavailableError, `${text}: ${outcome}`);
        const after = await request.left();
        // Nobody knows which units a call took that was applied and not answered. A permit is released by
        // its id; the share of a lease stays with its process, which gives its permits out.
        const isKnown = (at: number) =>
          fault !== "is applied and hangs" || (holds && !isLeased && at === count - 1) ||
          !failed.some(({ key }) => key.includes(`key${at}`));
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

/** Closes the store at each call: the request ends with an error, and does not hang. */
async function closeAtEachStep(storeOf: () => Store, name: string): Promise<void> {
  const { least, open } = WAYS[name]!;
  for (let step = 1; step <= MOST_CALLS; step++) {
    const inner = storeOf();
    let calls = 0;
    const store = interceptedStore(inner, (_operations, proceed) => {
      if (++calls === step) void inner.close();
      return proceed();
    });
    const request = open(store, inner, `trial${trials++}`, least);
    const outcome = await request.ask().catch((error: unknown) => error);
    if (calls < step) return assert.equal(outcome, true);
    assert.ok(outcome instanceof StoreUnavailableError, `call ${step}: ${outcome}`);
    await inner.close();
  }
}

function laws(storeOf: () => Store): void {
  for (const [name, { holds }] of Object.entries(WAYS)) {
    test(`${name}: a failure at any step leaves no trace`, () =>
      failEachStep(storeOf(), name, false));
    test(`${name}: a refusal leaves no trace`, () => refuseEach(storeOf(), name));
    test(`${name}: a store that is closed at any step is an error`, () =>
      closeAtEachStep(storeOf, name));
    if (!holds) continue;
    test(`${name}, on a lease: a failure at any step leaves no trace`, () =>
      failEachStep(storeOf(), name, true));
    test(`${name}, on a lease: a refusal leaves no trace`, () =>
      refuseEach(lease(storeOf(), { units: 2, ttl: "1h" }), name));
  }
}

/**
 * Stops the server at each call, and lets it go on once the request has failed. It then runs what it had
 * been sent, late: nobody knows whether the call was applied, but what gives units back was sent too.
 */
async function freezeAtEachStep(
  redis: RedisProcess,
  storeOf: () => Store,
  other: Store,
  name: string,
): Promise<void> {
  const { least, holds, open } = WAYS[name]!;
  for (let step = 1; step <= MOST_CALLS; step++) {
    const store = storeOf();
    await (limiter(gcra(RATE), { store, prefix: "connects" } as never) as unknown as AsyncLimiter)
      .consume("a");
    let calls = 0;
    const frozen: SeenCall[] = [];
    const request = open(
      interceptedStore(store, (operations, proceed) => {
        if (++calls === step) redis.signal("SIGSTOP");
        if (calls >= step) frozen.push(...operations);
        return proceed();
      }),
      other,
      `frozen${trials++}`,
      least,
    );
    const before = await request.left();
    const outcome = await request.ask().catch((error: unknown) => error);
    if (frozen.length === 0) return assert.equal(outcome, true);
    redis.signal("SIGCONT");
    assert.ok(outcome instanceof StoreUnavailableError, `call ${step}: ${outcome}`);
    const isKnown = (at: number) =>
      (holds && at === least - 1) || !frozen.some(({ key }) => key.includes(`key${at}`));
    const known = (units: readonly number[]) => units.filter((_, at) => isKnown(at));
    const isAsBefore = async () => `${known(await request.left())}` === `${known(before)}`;
    // Until the late call has run, all is as before already: so it must be so twice.
    const end = performance.now() + 10_000;
    for (let times = 0; times < 2 && performance.now() < end;) {
      times = await isAsBefore() ? times + 1 : 0;
      await sleep(50);
    }
    assert.deepEqual(known(await request.left()), known(before), `call ${step}`);
  }
}

/** A store that answers by promises, and takes at one instant from one of its parts alone. */
function dividedStore(): Store {
  const slotOf = (name: string) => Number(/key(\d)/.exec(name)?.[1] ?? 0) % 2;
  return wrapStore({ ...asyncMemoryStore(), slotOf }, {}) as Store;
}

describe("several limits on memory", () => laws(() => memoryStore()));
describe("several limits on a store of two parts", () => laws(dividedStore));
withRedis("several limits on Redis", (redis, { storeOf }) => {
  for (const name of Object.keys(WAYS)) {
    test(`${name}: a server that is stopped at any step leaves no trace`, () =>
      freezeAtEachStep(redis(), () => storeOf(FROZEN), storeOf(), name));
  }
});
