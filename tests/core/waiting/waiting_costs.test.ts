import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import { append } from "../../../core/linked_list.ts";
import { firstStaying, newQueue, type Waiter } from "../../../core/waiting/queue.ts";
import {
  acquire,
  type Algorithm,
  gcra,
  leakyQueue,
  limiter,
  type SyncStore,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { outcome } from "../../support/outcomes.ts";

/*
 * Waiting must cost what it should however many wait: n callers that leave or are admitted may take a
 * number of steps in proportion to n. Steps, listeners and timers are counted, not time.
 */

const N = 1_000;
const HOUR = 3_600_000;

/** An algorithm that counts the steps of its reducer. */
function counted(algorithm: Algorithm) {
  const steps = { count: 0 };
  const { returns } = algorithm.internals!;
  const step: Algorithm["step"] = (...call) => (steps.count++, algorithm.step(...call));
  return { steps, algorithm: { ...algorithm, step, internals: { returns } } as Algorithm };
}

/** A limiter whose key is used up, with many waiting callers. */
async function crowd(bare: Algorithm, join: (index: number) => object, store?: SyncStore) {
  const { steps, algorithm } = counted(bare);
  const clock = virtualClock(1_790_000_000_000);
  const api = store === undefined
    ? limiter(algorithm, { clock })
    : limiter(algorithm, { clock, store, prefix: "crowd" });
  await api.consume("key", algorithm.capacity);
  const calls = Array.from({ length: N }, (_, index) => outcome(acquire(api, "key", join(index))));
  await clock.pass(0);
  return { api, clock, calls, steps };
}

const oneAnHour = gcra({ limit: 1, period: HOUR, burst: 1 });
const enough = 2 * N * HOUR;

describe("many waiting callers", () => {
  for (const maxWait of [Infinity, enough]) {
    test(`with a maxWait of ${maxWait} need no timer of their own, and one listener a signal`, async () => {
      const controller = new AbortController();
      const { signal } = controller;
      let listeners = 0;
      const add = signal.addEventListener.bind(signal);
      signal.addEventListener = (...words: Parameters<typeof add>) => (listeners++, add(...words));
      const { clock, calls, steps } = await crowd(oneAnHour, () => ({ maxWait, signal }));
      assert.equal(listeners, 1);
      assert.equal(clock.sleepers, 1);
      assert.ok(steps.count <= 3 * N, `${steps.count} steps to join`);
      steps.count = 0;
      let left = 0;
      for (const call of calls) call.then(() => left++);
      controller.abort();
      await new Promise((resolve) => setTimeout(resolve, 0));
      assert.ok(left >= 250 && left <= 500, `${left} leave in the first turn`);
      await clock.pass(0);
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(["AbortError"]));
      assert.ok(steps.count <= N / 10, `${steps.count} steps to leave`);
      assert.equal(clock.sleepers, 0);
    });

    test(`with a maxWait of ${maxWait} leave one by one, the first first`, async () => {
      const controllers = Array.from({ length: N }, () => new AbortController());
      const { clock, calls, steps } = await crowd(
        oneAnHour,
        (index) => ({ maxWait, signal: controllers[index]!.signal }),
      );
      steps.count = 0;
      for (const controller of controllers) controller.abort();
      await clock.pass(0);
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(["AbortError"]));
      assert.ok(steps.count <= 5 * N, `${steps.count} steps`);
    });

    test(`with a maxWait of ${maxWait} are admitted by a reset, and by time`, async () => {
      const algorithm = gcra({ limit: N / 2, period: HOUR, burst: N / 2 });
      const { api, clock, calls, steps } = await crowd(algorithm, () => ({ maxWait }));
      steps.count = 0;
      api.reset("key");
      await clock.pass(HOUR);
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(["admitted"]));
      assert.ok(steps.count >= N && steps.count <= 9 * N, `${steps.count} steps`);
      assert.equal(clock.sleepers, 0);
    });
  }

  test("with a signal each leave in slices when all are aborted at one instant", async () => {
    const controllers = Array.from({ length: N }, () => new AbortController());
    const { clock, calls, steps } = await crowd(
      oneAnHour,
      (index) => ({ signal: controllers[index]!.signal }),
    );
    steps.count = 0;
    let left = 0;
    for (const call of calls) call.then(() => left++);
    for (const controller of controllers) controller.abort();
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.ok(left >= 250 && left <= 500, `${left} leave in the first turn`);
    await clock.pass(0);
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(["AbortError"]));
    assert.ok(steps.count <= N / 10, `${steps.count} steps to leave`);
    assert.equal(clock.sleepers, 0);
  });

  test("and whose call is answered before their turn to leave have taken nothing", async () => {
    let answer = () => {};
    const gate = new Promise<void>((resolve) => answer = resolve);
    const store = interceptedStore(asyncMemoryStore(), (_seen, call) => gate.then(call));
    const clock = virtualClock(1_790_000_000_000);
    const api = limiter(oneAnHour, { clock, store, prefix: "crowd" });
    const controllers = Array.from({ length: N }, () => new AbortController());
    const calls = controllers.map(({ signal }) => outcome(acquire(api, "key", { signal })));
    await clock.pass(0);
    // The call of the first one is under way, and the first one is the last one to be aborted.
    for (const controller of controllers.toReversed()) controller.abort();
    answer();
    await clock.pass(0);
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(["AbortError"]));
    assert.equal((await api.peek("key")).allowed, true);
  });

  test("and are overtaken again and again are not projected anew each time", async () => {
    const { api, clock, steps } = await crowd(
      gcra({ limit: 3_600, period: HOUR, burst: 3_600 }),
      () => ({ maxWait: enough }),
    );
    await clock.pass(1_000);
    steps.count = 0;
    // Before the head has its turn, each time, within one rest.
    for (let turn = 0; turn < 20; turn++) {
      api.charge("key");
      api.refund("key");
      acquire(api, "key", { maxWait: 1 }).catch(() => {});
    }
    assert.ok(steps.count <= 4 * N, `${steps.count} steps`);
    await clock.pass(1_000);
  });

  test("in the delay of a queue leave one by one", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const algorithm = leakyQueue({ limit: 1, period: 1_000, queue: 2 * N });
    const { steps, algorithm: queue } = counted(algorithm);
    const clock = virtualClock(1_790_000_000_000);
    const api = limiter(queue, { clock });
    api.consume("key");
    const calls = Array.from({ length: N }, () => outcome(acquire(api, "key", { signal })));
    await clock.pass(0);
    steps.count = 0;
    controller.abort();
    await clock.pass(0);
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(["AbortError"]));
    assert.ok(steps.count <= 9 * N, `${steps.count} steps`);
    assert.equal(api.peek("key").delay, 1_000, "all places are given back");
  });

  test("in the delay of a queue are not looked through by each that leaves", () => {
    const queue = newQueue({ passing: () => 0, after: () => () => {}, forget() {} });
    let looks = 0;
    const waiters = Array.from({ length: N }, () => {
      let hasLeft = false;
      const place = {
        get isLeft() {
          looks++;
          return hasLeft;
        },
      };
      return { leave: () => void (hasLeft = true), place };
    });
    for (const waiter of waiters) append(queue.delayed, waiter as unknown as Waiter);
    for (const waiter of waiters.slice(0, -1)) {
      waiter.leave();
      firstStaying(queue);
    }
    assert.ok(looks <= 3 * N, `${looks} looks`);
  });

  test("on a store that does not answer are failed at their deadline, with few calls", async () => {
    let calls = 0;
    const store = interceptedStore(asyncMemoryStore(), () => (calls++, new Promise(() => {})));
    const clock = virtualClock(1_790_000_000_000);
    const api = limiter(oneAnHour, { clock, store, prefix: "crowd" });
    const waiting = Array.from(
      { length: N },
      () => outcome(acquire(api, "key", { maxWait: 1_000 })),
    );
    await clock.pass(0);
    assert.equal(clock.sleepers, 1);
    await clock.pass(1_000 + 250);
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(["StoreUnavailableError"]));
    assert.ok(calls <= 3, `${calls} calls`);
    assert.equal(clock.sleepers, 0);
  });
});

test("after a caller has left, a projection is a bound, and is remade only before a refusal", async () => {
  const clock = virtualClock(1_790_000_000_000);
  const { steps, algorithm } = counted(gcra({ limit: 1, period: 1_000, burst: 3 }));
  const api = limiter(algorithm, { clock });
  api.consume("key", 3);
  const leaver = new AbortController();
  const calls = [
    outcome(acquire(api, "key")),
    outcome(acquire(api, "key", { cost: 3, signal: leaver.signal })),
    outcome(acquire(api, "key", { maxWait: 10_000 })),
  ];
  await clock.pass(0);
  leaver.abort();
  steps.count = 0;
  calls.push(outcome(acquire(api, "key", { maxWait: 10_000 })));
  assert.ok(steps.count <= 2, `${steps.count} steps`);
  calls.push(outcome(acquire(api, "key", { maxWait: 4_000 })));
  calls.push(outcome(acquire(api, "key", { maxWait: 4_999 })));
  await clock.pass(4_000);
  assert.deepEqual(await Promise.all(calls), [
    "admitted",
    "AbortError",
    "admitted",
    "admitted",
    "admitted",
    "RateLimitedError",
  ]);
});
