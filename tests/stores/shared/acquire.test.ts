import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  acquire,
  type Algorithm,
  gcra,
  type Limiter,
  StoreUnavailableError,
} from "../../../mod.ts";
import {
  attachSharedStore,
  type SharedStore,
  sharedStore,
} from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { audit } from "./support/audit.ts";
import type { Job } from "./support/jobs.ts";
import { limiterOn, NOW } from "./support/limiter_on.ts";
import { startWorkers } from "./support/workers.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";

const one = gcra({ limit: 1, period: "1h", burst: 1 });

/** Two views of one store, as two threads have them, and a limiter on each. */
function twoViews(algorithm: Algorithm = one) {
  const store = sharedStore({ capacity: 1_000, threads: 8 });
  const stores = [store, attachSharedStore(store.handle)] as const;
  let calls = 0;
  function clock(): number {
    calls++;
    return NOW;
  }
  const on = (store: SharedStore): Limiter => limiterOn(store, algorithm, clock);
  return { stores, here: on(stores[0]), there: on(stores[1]), calls: () => calls };
}

const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("acquire is admitted before the time that its refusal said if another thread", () => {
  const gives: Readonly<Record<string, (there: Limiter) => unknown>> = {
    "refunds": (there) => there.refund("key"),
    "resets the key": (there) => there.reset("key"),
    "resets all keys": (there) => there.resetPrefix(),
  };
  for (const [name, give] of Object.entries(gives)) {
    test(name, async () => {
      const { stores, here, there } = twoViews();
      here.consume("key");
      const waiting = acquire(here, "key");
      await nextTurn();
      give(there);
      assert.equal((await waiting).allowed, true);
      for (const store of stores) store.close();
    });
  }
});

test("a refund between a refusal and the sleep after it is not missed", async () => {
  const { stores, here, there } = twoViews();
  here.consume("key");
  // Right after the call of the store, before the caller sleeps.
  let isFirst = true;
  const store = interceptedStore(stores[0], ([call], proceed) => {
    const answers = proceed();
    if (isFirst && call!.cost > 0) {
      isFirst = false;
      there.refund("key");
    }
    return answers;
  });
  const late = limiterOn(store, one);
  assert.equal((await acquire(late, "key")).allowed, true);
  for (const each of stores) each.close();
});

test("threads admit callers that wait in other threads, and a killed thread leaves at most a record", async () => {
  const { stores: [store], here } = twoViews();
  const workers = await startWorkers(store, 2);
  const job = { kind: "acquire", limit: 1, key: "key" } satisfies Job;
  here.consume("key");
  const killed = await workers.start();
  killed.postMessage(job);
  const waiting = workers.run<boolean>(2, () => job);
  // All wait, or will.
  while (workers.flags[0]! > 0) await nextTurn();
  await killed.terminate();
  let isOver = false;
  void waiting.finally(() => isOver = true);
  for (; !isOver; await nextTurn()) if (!here.peek("key").allowed) here.refund("key");
  assert.deepEqual(await waiting, [true, true]);
  await workers.stop();
  store.close();
  const { uncounted, blocks, nodes, records } = audit(store.handle);
  assert.deepEqual([uncounted, blocks, nodes], [0, 0, 0]);
  // It may have died in a call: the next thread that needs its record takes it over.
  assert.ok(records <= 1, `${records} records`);
});

test("close ends the waits in its thread, and an abort does not", async () => {
  const { stores, here, there } = twoViews();
  here.consume("key");
  const abort = new AbortController();
  const aborted = acquire(here, "key", { signal: abort.signal });
  const closed = acquire(here, "key");
  abort.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
  stores[0].close();
  await assert.rejects(closed, StoreUnavailableError);
  there.refund("key");
  assert.equal(there.consume("key").allowed, true);
  stores[1].close();
});

test("many refunds in one turn cause few calls of waiting callers", async () => {
  const { stores, here, there, calls } = twoViews(
    gcra({ limit: 1_000, period: "1h", burst: 1_000 }),
  );
  here.consume("key", 1_000);
  const waiting = acquire(here, "key", { cost: 1_000 });
  await nextTurn();
  const before = calls();
  for (let refund = 0; refund < 1_000; refund++) there.refund("key");
  assert.equal((await waiting).allowed, true);
  assert.ok(calls() - before <= 1_000 + 2, `${calls() - before - 1_000} calls`);
  for (const store of stores) store.close();
});

test("as many units as two threads wait for, given back in any order, admit all of them", async () => {
  const step = fc.record({ isHere: fc.boolean(), cost: fc.integer({ min: 1, max: 3 }) });
  const steps = fc.array(step, { minLength: 1, maxLength: 8 });
  const property = fc.asyncProperty(steps, steps, async (waits, refunds) => {
    const { stores, here, there } = twoViews(gcra({ limit: 24, period: "1h", burst: 24 }));
    here.consume("key", 24);
    const of = (isHere: boolean) => isHere ? here : there;
    const order: number[][] = [[], []];
    const waiting = waits.map(({ isHere, cost }, index) =>
      acquire(of(isHere), "key", { cost }).then(() => order[isHere ? 0 : 1]!.push(index))
    );
    let left = waits.reduce((sum, { cost }) => sum + cost, 0);
    for (let turn = 0; left > 0; turn++) {
      const { isHere, cost } = refunds[turn % refunds.length]!;
      const given = Math.min(cost, left);
      of(isHere).refund("key", given);
      left -= given;
      if (turn % 2 === 0) await nextTurn();
    }
    await Promise.all(waiting);
    for (const own of order) assert.deepEqual(own, [...own].sort((a, b) => a - b));
    assert.equal(here.peek("key", 0).remaining, 0);
    for (const store of stores) store.close();
  });
  await fc.assert(property, fcOptions({ numRuns: 12 }));
});
