import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import {
  acquire,
  type Algorithm,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
  RateLimitedError,
  type SyncStore,
} from "../../../mod.ts";
import { makeDecision } from "../../../core/make_decision.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { outcome, settledOf } from "../../support/outcomes.ts";
import { wrapStore } from "../../../core/wrap_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";

/** A limiter on a store whose answers can be held back, and come one by one when released. */
function slowLimiter(algorithm: Algorithm) {
  const clock = virtualClock(1_000_000);
  const held: (() => void)[] = [];
  let holding = false;
  let failure: Error | undefined;
  const store = interceptedStore(asyncMemoryStore(), async (_calls, proceed) => {
    const failed = failure;
    failure = undefined;
    if (failed !== undefined) throw failed;
    const answers = await proceed();
    if (holding) await new Promise<void>((resolve) => held.push(resolve));
    return answers;
  });
  return {
    failNext: (error: Error) => void (failure = error),
    clock,
    api: limiter(algorithm, { store, prefix: "slow", clock }),
    hold: () => void (holding = true),
    async release() {
      holding = false;
      while (held.length > 0) {
        held.shift()!();
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    },
  };
}

describe("acquire on a store that answers later", () => {
  test("calls at the same time, all of which fit, are all admitted at once", async () => {
    for (const maxWait of [0, 1_000, Infinity]) {
      const { api } = slowLimiter(gcra({ limit: 5, period: "1h", burst: 5 }));
      const calls = Array.from({ length: 6 }, () => outcome(acquire(api, "key", { maxWait })));
      if (maxWait === Infinity) calls.pop();
      const rest = maxWait === Infinity ? [] : ["RateLimitedError"];
      assert.deepEqual(await settledOf(calls), [...Array(5).fill("admitted"), ...rest]);
    }
  });

  test("callers with a delay start in the order of their places, whenever the answers came", async () => {
    const queue = leakyQueue({ limit: 1, period: 40, queue: 5 });
    const { api, clock, hold, release } = slowLimiter(queue);
    await acquire(api, "key");
    const order: string[] = [];
    const enter = (name: string, signal?: AbortSignal) =>
      outcome(acquire(api, "key", signal === undefined ? {} : { signal }))
        .then((end) => void order.push(`${name} ${end}`));
    const gone = new AbortController();
    hold();
    const calls = [enter("first"), enter("second", gone.signal), enter("third"), enter("fourth")];
    // The first has the place at 40, and learns it at 100; the others learn theirs in time.
    await clock.pass(100);
    await release();
    gone.abort();
    for (let at = 0; at < 200; at += 10) await clock.pass(10);
    await Promise.all(calls);
    assert.deepEqual(order, [
      "second AbortError",
      "first admitted",
      "third admitted",
      "fourth admitted",
    ]);
  });

  test("a caller who comes while another one leaves waits for the callers who stay", async () => {
    const { api, clock, hold, release } = slowLimiter(gcra({ limit: 1, period: 1_000, burst: 1 }));
    await api.consume("key");
    const leaver = new AbortController();
    hold();
    const zero = outcome(acquire(api, "key", { signal: leaver.signal }));
    const one = outcome(acquire(api, "key", { maxWait: 2_500 }));
    leaver.abort();
    const two = outcome(acquire(api, "key", { maxWait: 2_500 }));
    await release();
    await clock.pass(5_000);
    assert.deepEqual(await settledOf([zero, one, two]), ["AbortError", "admitted", "admitted"]);
  });

  test("a refund while the head's call is under way is not missed", async () => {
    for (const give of ["refund", "reset"] as const) {
      const { api, clock, hold, release } = slowLimiter(gcra({ limit: 1, period: "1h", burst: 1 }));
      await api.consume("key");
      hold();
      const waiting = outcome(acquire(api, "key"));
      await clock.pass(0);
      const given = give === "refund" ? api.refund("key") : api.reset("key");
      await release();
      await given;
      await clock.pass(10);
      assert.deepEqual(await settledOf([waiting]), ["admitted"]);
    }
  });

  test("a caller who leaves while the call is under way gives back, and only the newest place", async () => {
    const { api, clock, hold, release } = slowLimiter(
      leakyQueue({ limit: 1, period: 1_000, queue: 5 }),
    );
    await api.consume("key");
    const leaver = new AbortController();
    hold();
    const left = outcome(acquire(api, "key", { signal: leaver.signal }));
    await clock.pass(0);
    const second = api.consume("key");
    await clock.pass(0);
    leaver.abort();
    await release();
    assert.deepEqual(await settledOf([left]), ["AbortError"]);
    const delays = [await second, await api.consume("key")].map((decision) => decision.delay);
    assert.equal(delays[1]! - delays[0]!, 1_000, "no two calls start together");
  });

  test("a store's error fails the call that met it, and the others go on", async () => {
    const { failNext, clock, api } = slowLimiter(gcra({ limit: 1, period: 1_000, burst: 1 }));
    await api.consume("key");
    const waiting = [acquire(api, "key"), acquire(api, "key")].map(outcome);
    await clock.pass(0);
    failNext(new Error("gone"));
    await clock.pass(3_000);
    assert.deepEqual(await settledOf(waiting), ["Error", "admitted"]);
  });
});

test("callers without time for their turn leave, and the callers behind move up", async () => {
  const { api, clock, hold, release } = slowLimiter(gcra({ limit: 1, period: "1s", burst: 1 }));
  await api.consume("key");
  hold();
  const leaver = new AbortController();
  const join = (maxWait: number, signal?: AbortSignal) =>
    outcome(acquire(api, "key", { maxWait, signal }));
  const calls = [Infinity, 2_000, 2_999, 3_000, 3_999].map((maxWait) => join(maxWait));
  await clock.pass(0);
  await release();
  assert.deepEqual(await settledOf(calls), [
    "pending",
    "pending",
    "RateLimitedError",
    "pending",
    "RateLimitedError",
  ]);
  calls.push(join(4_000, leaver.signal), join(4_999));
  leaver.abort();
  calls.push(join(3_999), join(4_000));
  await clock.pass(4_000);
  assert.deepEqual((await settledOf(calls)).slice(3), [
    "admitted",
    "RateLimitedError",
    "AbortError",
    "RateLimitedError",
    "RateLimitedError",
    "admitted",
  ]);
});

test("a caller who joins after an admission or a refund is refused by the wait that is left", async () => {
  const { api, clock } = slowLimiter(gcra({ limit: 1, period: "1s", burst: 1 }));
  await api.consume("key");
  const join = (maxWait: number) => outcome(acquire(api, "key", { maxWait }));
  const calls = [1_000, 2_000, 3_000].map(join);
  await clock.pass(1_000);
  calls.push(join(2_999), join(3_000));
  const first = ["admitted", "pending", "pending", "RateLimitedError", "pending"];
  assert.deepEqual(await settledOf(calls), first);
  await api.refund("key");
  await clock.pass(0);
  calls.push(join(2_999), join(3_000));
  const then = ["admitted", "admitted", "pending", "RateLimitedError", "pending"];
  assert.deepEqual(await settledOf(calls), [...then, "RateLimitedError", "pending"]);
  await clock.pass(3_000);
  assert.deepEqual((await settledOf(calls)).slice(4), ["admitted", "RateLimitedError", "admitted"]);
});

describe("acquire on a store that does not answer", () => {
  const algorithm = gcra({ limit: 2, period: "1h", burst: 2 });

  test("ends by maxWait, whether its call is under way or it waits behind one", async () => {
    for (const first of [1_000, Infinity]) {
      const { api, clock, hold, release } = slowLimiter(algorithm);
      hold();
      const seen: string[] = [];
      for (const maxWait of [first, 2_000, 500]) {
        acquire(api, "key", { maxWait }).catch(({ name, applied, message }) => {
          seen.push(`${maxWait} at ${clock() - 1_000_000}: ${name} ${applied}`);
          assert.match(message, /the store must answer within maxWait \(\d+ ms\)/);
        });
      }
      await clock.pass(5_000);
      const unavailable = "StoreUnavailableError";
      assert.deepEqual(seen, [
        `500 at 500: ${unavailable} no`,
        // When the first one has left, the second one calls the store itself.
        ...(first === 1_000 ? [`1000 at 1000: ${unavailable} unknown`] : []),
        `2000 at 2000: ${unavailable} ${first === 1_000 ? "unknown" : "no"}`,
      ]);
      await release();
      // The units that were taken for callers who had left are given back.
      assert.equal((await api.peek("key", 0)).remaining, first === 1_000 ? 2 : 1);
      assert.equal(clock.sleepers, 0);
    }
  });

  test("the refund for an abandoned call lets the next caller in", async () => {
    const { api, clock, hold, release } = slowLimiter(gcra({ limit: 1, period: "1h", burst: 1 }));
    hold();
    const calls = [1_000, Infinity].map((maxWait) => outcome(acquire(api, "key", { maxWait })));
    await clock.pass(1_000);
    await release();
    assert.deepEqual(await settledOf(calls), ["StoreUnavailableError", "admitted"]);
  });

  test("ends looks by maxWait: costs of 0, and costs above the capacity", async () => {
    const { api, clock, hold } = slowLimiter(algorithm);
    hold();
    const calls = [0, 3].map((cost) => outcome(acquire(api, "key", { cost, maxWait: 1_000 })));
    await clock.pass(1_000);
    assert.deepEqual(await settledOf(calls), Array(2).fill("StoreUnavailableError"));
  });

  test("has some time to answer even a caller who does not wait", async () => {
    const { api, clock, hold, release } = slowLimiter(algorithm);
    hold();
    const call = outcome(acquire(api, "key", { maxWait: 0 }));
    await clock.pass(100);
    await release();
    assert.deepEqual(await settledOf([call]), ["admitted"]);
  });
});

describe("maxWaiting", () => {
  const waits = (calls: readonly Promise<unknown>[]) => settledOf(calls.map(outcome));

  test("refuses no caller who need not wait", async () => {
    for (const store of [memoryStore(), asyncMemoryStore()] as SyncStore[]) {
      const options = { store, prefix: "api", clock: virtualClock(1_000_000), maxWaiting: 2 };
      const api = limiter(gcra({ limit: 5, period: "1h", burst: 5 }), options);
      const keys = ["a", "b", "c", "d", "e"];
      assert.deepEqual(
        await waits(keys.map((key) => acquire(api, key))),
        Array(5).fill("admitted"),
      );
      assert.deepEqual(await waits(keys.map(() => acquire(api, "f"))), Array(5).fill("admitted"));
    }
  });

  test("refuses a caller who is one too many in the queue, or in the delay", async () => {
    for (
      const [algorithm, admitted] of [
        [gcra({ limit: 1, period: "1h", burst: 1 }), 1],
        [leakyQueue({ limit: 1, period: "1h", queue: 5 }), 1],
      ] as const
    ) {
      for (const store of [memoryStore(), asyncMemoryStore()] as SyncStore[]) {
        const clock = virtualClock(1_000_000);
        const api = limiter(algorithm, { store, prefix: "api", clock, maxWaiting: 2 });
        const controller = new AbortController();
        const { signal } = controller;
        const calls = Array.from({ length: 5 }, () => acquire(api, "key", { signal }));
        const outcomes = await waits(calls);
        const expected = [
          ...Array(admitted).fill("admitted"),
          ...Array(2).fill("pending"),
          ...Array(2).fill("RateLimitedError"),
        ];
        assert.deepEqual(outcomes, expected);
        controller.abort();
        await clock.pass(0);
        // Callers who left make room.
        assert.deepEqual(await waits([acquire(api, "key"), acquire(api, "key")]), [
          "pending",
          "pending",
        ]);
      }
    }
  });
});

test("a caller whose delay is over waits no longer, so maxWaiting has room again", async () => {
  const clock = virtualClock(1_000_000);
  const algorithm = leakyQueue({ limit: 1, period: 1_000, queue: 5 });
  const api = limiter(algorithm, { clock, maxWaiting: 1 });
  await acquire(api, "key");
  for (let call = 0; call < 3; call++) {
    const delayed = outcome(acquire(api, "key"));
    await clock.pass(1_000);
    assert.deepEqual(await settledOf([delayed]), ["admitted"]);
  }
});

test("a key whose queue was empty meanwhile hears of units that come back", async () => {
  const clock = virtualClock(1_000_000);
  const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), { clock });
  api.consume("key");
  for (let turn = 0; turn < 2; turn++) {
    const waiting = outcome(acquire(api, "key"));
    await clock.pass(0);
    api.refund("key");
    await clock.pass(0);
    assert.deepEqual(await settledOf([waiting]), ["admitted"]);
  }
});

test("refused at maxWaiting where units are left, one is never sent back at once", async () => {
  const clock = virtualClock(1_000_000);
  const api = limiter(gcra({ limit: 1, period: "1h", burst: 3 }), { clock, maxWaiting: 1 });
  api.consume("key", 2);
  const controller = new AbortController();
  const large = acquire(api, "key", { cost: 3, signal: controller.signal });
  assert.equal(api.peek("key").allowed, true);
  const refused = await acquire(api, "key").catch((error) => error);
  assert.ok(refused instanceof RateLimitedError);
  assert.deepEqual([refused.decision.allowed, refused.decision.retryAfter], [false, 1]);
  controller.abort();
  await assert.rejects(large);
});

describe("acquire on a store whose failure policy answers", () => {
  const rate = gcra({ limit: 1, period: "1h", burst: 1 });
  const queue = leakyQueue({ limit: 1, period: "1h", queue: 3 });

  /** A limiter whose store is away, and then back. */
  function awayLimiter(algorithm: Algorithm, allowed: boolean) {
    const clock = virtualClock(1_000_000);
    const retryAfter = allowed ? 0 : 1_000;
    const decision = makeDecision(allowed, 1, 0, retryAfter, 0, 0, 0, 0, "policy", undefined);
    let away = true;
    const costs: number[] = [];
    const store = interceptedStore(asyncMemoryStore(), async (calls, proceed) => {
      costs.push(...calls.map(({ cost }) => cost));
      await Promise.resolve();
      return away ? calls.map(({ verb }) => verb.answerOf(decision)) : proceed();
    });
    const api = limiter(algorithm, { store, prefix: "away", clock });
    return { api, clock, costs, back: () => void (away = false) };
  }

  test("admits by it, whatever the call's maxWait", async () => {
    for (const algorithm of [rate, queue]) {
      for (const maxWait of [0, Infinity]) {
        const { api } = awayLimiter(algorithm, true);
        assert.equal((await acquire(api, "key", { maxWait })).source, "policy");
      }
    }
  });

  test("refuses a caller without time to try again, and lets the others wait until the store is back", async () => {
    for (const algorithm of [rate, queue]) {
      const { api, clock, back } = awayLimiter(algorithm, false);
      const unlimited = outcome(acquire(api, "key"));
      const first = outcome(acquire(api, "key", { maxWait: 999 }));
      const second = outcome(acquire(api, "key", { maxWait: 2_500 }));
      await clock.advance(0);
      assert.deepEqual(await settledOf([first]), ["RateLimitedError"]);
      await clock.advance(2_000);
      assert.deepEqual(await settledOf([second]), ["RateLimitedError"]);
      back();
      await clock.advance(1_000);
      assert.deepEqual(await settledOf([unlimited]), ["admitted"]);
    }
  });

  test("gives nothing back to a store that took nothing", async () => {
    const { api, clock, costs } = awayLimiter(rate, true);
    const controller = new AbortController();
    const call = outcome(acquire(api, "key", { signal: controller.signal }));
    controller.abort();
    assert.deepEqual(await settledOf([call]), ["AbortError"]);
    await clock.advance(0);
    assert.deepEqual(costs, [1]);
  });
});

describe("acquire", () => {
  test("a throwing onDecision changes no call's outcome, and nobody hangs", async () => {
    const clock = virtualClock(1_000_000);
    const failures: unknown[] = [];
    const api = limiter(gcra({ limit: 1, period: 1_000, burst: 1 }), {
      clock,
      onDecision() {
        throw new Error("down");
      },
      onFailure: (error) => failures.push(error),
    });
    api.consume("key");
    const calls = [{}, { maxWait: 10 }, { maxWait: 2_500 }, { maxWait: 2_500 }]
      .map((options) => outcome(acquire(api, "key", options)));
    await clock.pass(5_000);
    assert.deepEqual(await settledOf(calls), [
      "admitted",
      "RateLimitedError",
      "admitted",
      "RateLimitedError",
    ]);
    assert.equal(failures.length, 5);
    assert.equal(clock.sleepers, 0);
  });

  test("when others are faster, a caller who cannot be served in time is refused", async () => {
    const clock = virtualClock(1_000_000);
    const api = limiter(gcra({ limit: 1, period: 1_000, burst: 1 }), { clock });
    api.consume("key");
    clock.after(1_000, () => api.consume("key")); // before the head has its turn
    const calls = [1_500, 2_500, Infinity].map((maxWait) =>
      outcome(acquire(api, "key", { maxWait }))
    );
    await clock.pass(10_000);
    assert.deepEqual(await settledOf(calls), [
      "RateLimitedError",
      "admitted",
      "admitted",
    ]);
  });

  test("a clock that steps back, or stands still, lets nobody wait for longer than maxWait", async () => {
    for (const step of [-3_600_000, 0]) {
      let now = 1_790_000_000_000;
      const api = limiter(gcra({ limit: 1, period: 20, burst: 1 }), { clock: () => now });
      api.consume("key");
      const waiting = acquire(api, "key", { maxWait: 30 });
      now += step;
      await assert.rejects(waiting, RateLimitedError);
    }
  });

  test("a queue is closed when nobody is in it, so a limiter forgets its callers", async () => {
    const clock = virtualClock(1_000_000);
    let looks = 0;
    const algorithm = leakyQueue({ limit: 1, period: 1_000, queue: 5 });
    const inner = memoryStore();
    // A limiter looks for a queue to wake only while there is one.
    const store = wrapStore(inner, {
      open(spec) {
        const family = inner.open(spec);
        return { ...family, nameOf: (key) => (looks++, family.nameOf(key)) };
      },
    });
    const api = limiter(algorithm, { store, prefix: "api", clock });
    await acquire(api, "key");
    const middle = new AbortController();
    const calls = [
      acquire(api, "key"),
      acquire(api, "key", { signal: middle.signal }),
      acquire(api, "key"),
    ].map(outcome);
    await clock.pass(0);
    middle.abort();
    await clock.pass(10_000);
    assert.deepEqual(await settledOf(calls), ["admitted", "AbortError", "admitted"]);
    const before = looks;
    api.refund("key");
    assert.equal(looks - before, 0);
  });

  test("abort listeners do not pile up on a signal", async () => {
    const clock = virtualClock(1_000_000);
    const api = limiter(leakyQueue({ limit: 10, period: 1_000, queue: 2 }), { clock });
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...words: Parameters<typeof add>) => (listeners++, add(...words));
    signal.removeEventListener = (...words: Parameters<typeof remove>) => (
      listeners--, remove(...words)
    );
    const calls = [0, 1, 2, 3, 4].map((place) =>
      outcome(acquire(api, "key", { signal, maxWait: place < 3 ? Infinity : 50 }))
    );
    await clock.pass(10_000);
    await settledOf(calls);
    assert.ok(listeners <= 0, `${listeners} listeners are left`);
  });

  test("a refusal counts from the caller's now, and never says at once", async () => {
    const clock = virtualClock(1_000_000);
    const api = limiter(gcra({ limit: 1, period: 10_000, burst: 1 }), { clock, maxWaiting: 2 });
    api.consume("key");
    const waiting = [acquire(api, "key"), acquire(api, "key")];
    await clock.pass(4_000);
    const crowded = await acquire(api, "key").catch((error) => error);
    assert.match(crowded.message, /at most 2 may wait/);
    assert.equal(crowded.decision.retryAfter, 6_000);
    await clock.pass(16_000);
    await settledOf(waiting);
    const first = acquire(api, "key");
    const late = await acquire(api, "key", { maxWait: "5s" }).catch((error) => error);
    assert.ok(late instanceof RateLimitedError);
    assert.deepEqual([late.decision.retryAfter, late.decision.resetAfter], [20_000, 10_000]);
    await clock.pass(10_000);
    await settledOf([first]);
  });

  test("a clock may wake at once", async () => {
    let now = 1_000_000;
    const clock = Object.assign(() => now, {
      after(milliseconds: number, wake: () => void) {
        now += milliseconds;
        wake();
        return () => {};
      },
    });
    const api = limiter(leakyQueue({ limit: 1, period: 1_000, queue: 1 }), { clock });
    for (let call = 0; call < 4; call++) await acquire(api, "key");
    assert.equal(now, 1_003_000);
  });

  test("a cost of 0 looks, whoever waits", async () => {
    const clock = virtualClock(1_000_000);
    const api = limiter(gcra({ limit: 1, period: 10_000, burst: 1 }), { clock });
    api.consume("key");
    const waiting = acquire(api, "key");
    assert.equal((await acquire(api, "key", { cost: 0, maxWait: 0 })).allowed, true);
    await clock.pass(10_000);
    await settledOf([waiting]);
  });
});

test("units that came back before the queue listened are not missed, where others give back too", async () => {
  const clock = virtualClock(1_000_000);
  const inner = memoryStore();
  const algorithm = gcra({ limit: 1, period: "1h", burst: 1 });
  const elsewhere = limiter(algorithm, { store: inner, prefix: "api", clock });
  let calls = 0;
  const store = wrapStore(inner, {
    open: (spec) => ({ ...inner.open(spec), refundNotice: () => () => () => {} }),
    call: (bound) => (key, argument, now) => {
      const answer = bound.call(key, argument as never, now);
      // Another thread gives the unit back right after the refusal.
      if (calls++ === 0) elsewhere.refund("key");
      return answer;
    },
  });
  elsewhere.consume("key");
  const api = limiter(algorithm, { store, prefix: "api", clock });
  const call = outcome(acquire(api, "key"));
  assert.deepEqual(await settledOf([call]), ["admitted"]);
  assert.equal(calls, 2);
});
