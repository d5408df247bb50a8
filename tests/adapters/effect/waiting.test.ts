import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Clock, Duration, Effect, Exit, Fiber, Scheduler } from "effect";
import { TestClock } from "effect/testing";

import {
  layerStore,
  limit,
  type RateLimiter,
  type RateLimitError,
  withLimit,
} from "../../../adapters/effect/effect.ts";
import { all, fixedWindow, gcra, leakyQueue, limiter, memoryStore } from "../../../mod.ts";
import { policyStore } from "../../support/policy_store.ts";
import { promised } from "../../support/promised_store.ts";
import { inTestTime, withLimiter } from "./support/in_test_time.ts";

const slow = limit("slow", gcra({ limit: 1, period: "10s", burst: 1 }));
const queue = limit("queue", leakyQueue({ limit: 1, period: "10s", queue: 3 }));
/** An algorithm that delays calls, with no name to know it by. */
const ownQueue = limit("own", { ...queue.algorithm, id: "own/1/10000" });

/** The instant at which an effect ends, and how. */
const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(
    Effect.exit(effect),
    (exit) => Effect.map(Clock.currentTimeMillis, (at) => ({ at, exit })),
  );

/** Lets the event loop turn until something has happened, or that many times. */
const turns = (happened: () => boolean, most = 1_000) =>
  Effect.promise(async () => {
    for (let turn = 0; turn < most && !happened(); turn++) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  });

describe("acquire", () => {
  test("has given everything back when an interrupt is over, also where the store answers later", async () => {
    const memory = memoryStore();
    const { store, held } = promised(memory);
    const balance = () =>
      limiter(slow.algorithm, { store: memory, prefix: "slow", clock: () => 0 }).peek("a", 0)
        .remaining;
    await withLimiter(function* (limiter) {
      const waiting = yield* Effect.forkChild(limiter.acquire(slow, "a"), {
        startImmediately: true,
      });
      yield* turns(() => held.count() === 1);
      assert.equal(balance(), 0);
      let over = false;
      const interrupting = yield* Effect.forkChild(
        Effect.andThen(Fiber.interrupt(waiting), Effect.sync(() => over = true)),
      );
      yield* turns(() => over, 20);
      assert.equal(over, false, "what was taken is not yet given back");
      while (!over) {
        held.release();
        yield* turns(() => over, 5);
      }
      yield* Fiber.join(interrupting);
      assert.equal(balance(), 1);
    }, layerStore(store));
  });
});

describe("withLimit", () => {
  const hello = Effect.succeed("hello");

  const starts = [0, 10_000, 20_000, 30_000];
  for (
    const [how, limited, onExceeded, expected] of [
      ["not where onExceeded is fail", slow, "fail", [0, "refused"]],
      ["where onExceeded is wait", slow, "wait", [...starts, 40_000]],
      ["in a queue, and no longer than it is", queue, "fail", [...starts, "refused"]],
    ] as const
  ) {
    test(`waits ${how}`, async () => {
      const ends = await withLimiter(function* () {
        const greet = withLimit(hello, { limit: limited, key: "a", onExceeded });
        const fibers = yield* Effect.forEach(expected, () => Effect.forkChild(timed(greet)));
        yield* TestClock.adjust("1 minute");
        return yield* Fiber.joinAll(fibers);
      });
      assert.deepEqual(ends.map(({ at, exit }) => Exit.isSuccess(exit) ? at : "refused"), expected);
    });
  }

  test("undoes an admission whose effect has not begun", async () => {
    await withLimiter(function* (limiter) {
      yield* limiter.consume(queue, "a");
      let ran = false;
      const limited = withLimit(Effect.sync(() => ran = true), { limit: queue, key: "a" });
      const waiting = yield* Effect.forkChild(limited);
      yield* TestClock.adjust("5 seconds");
      yield* Fiber.interrupt(waiting);
      assert.equal(ran, false);
      assert.deepEqual((yield* limiter.peek(queue, "a", 0)).resetAfter, Duration.seconds(5));
    });
  });

  for (
    const [whose, limited] of [["a queue", queue], ["an own kind of queue", ownQueue]] as const
  ) {
    test(`keeps the place of one in ${whose} when others came after it`, async () => {
      await withLimiter(function* (limiter) {
        const greet = withLimit(hello, { limit: limited, key: "a" });
        yield* greet;
        const [first, second] = yield* Effect.forEach(
          [1, 2],
          () => Effect.forkChild(timed(greet)),
        );
        yield* TestClock.adjust("1 second");
        yield* Fiber.interrupt(first!);
        const { resetAfter } = yield* limiter.peek(limited, "a", 0);
        assert.deepEqual(resetAfter, Duration.seconds(29));
        yield* TestClock.adjust("1 minute");
        assert.equal((yield* Fiber.join(second!)).at, 20_000);
      });
    });
  }

  test("leaves the units of an effect that has begun", async () => {
    await withLimiter(function* (limiter) {
      const limited = withLimit(Effect.never, { limit: slow, key: "a" });
      const running = yield* Effect.forkChild(limited, { startImmediately: true });
      yield* Effect.yieldNow;
      yield* Fiber.interrupt(running);
      assert.equal((yield* limiter.peek(slow, "a")).allowed, false);
    });
  });

  test("leaves no unit behind, whenever the interrupt comes", async () => {
    for (const onExceeded of ["fail", "wait"] as const) {
      const outcomes: string[] = [];
      for (let steps = 1; steps <= 40; steps++) {
        await withLimiter(function* (limiter) {
          let began = false;
          const body = Effect.andThen(Effect.sync(() => began = true), Effect.never);
          const limited = withLimit(body, { limit: slow, key: "a", onExceeded });
          // A fiber that yields all the time lets an interrupt in between any two of its steps.
          const fiber = yield* Effect.forkChild(limited).pipe(
            Effect.provideService(Scheduler.MaxOpsBeforeYield, 4),
          );
          for (let step = 0; step < steps; step++) yield* Effect.yieldNow;
          yield* Fiber.interrupt(fiber);
          const { allowed } = yield* limiter.peek(slow, "a");
          outcomes.push(`${began ? "began" : "not yet"}, ${allowed ? "given back" : "taken"}`);
        });
      }
      const without = outcomes.filter((outcome) => outcome === "not yet, given back");
      const begun = outcomes.filter((outcome) => outcome === "began, taken");
      assert.ok(without.length > 0 && begun.length > 0);
      // Between the start of the effect and its first step there is one place to be interrupted at.
      assert.ok(without.length + begun.length >= outcomes.length - 1, outcomes.join("\n"));
    }
  });

  test("gives nothing back if a failure policy admitted the call", async () => {
    const { store, costs } = policyStore();
    const refundIf = () => true;
    await inTestTime(
      Effect.gen(function* () {
        for (const limit of [slow, queue]) {
          for (const onExceeded of ["fail", "wait"] as const) {
            assert.equal(
              yield* withLimit(hello, { limit, key: "a", onExceeded, refundIf }),
              "hello",
            );
          }
        }
      }),
      layerStore(store),
    );
    assert.deepEqual(costs, [1, 1, 1, 1]);
  });

  for (const onExceeded of ["fail", "wait"] as const) {
    test(`gives back the remaining units, and no units of later calls: ${onExceeded}`, async () => {
      const second = fixedWindow({ limit: 1, period: "10s" });
      const both = limit("both", all(second, fixedWindow({ limit: 5, period: "1m" })));
      const window = limit("window", second);
      await withLimiter(function* (limiter) {
        for (const limit of [window, both]) {
          const late = Effect.andThen(Effect.sleep("15 seconds"), Effect.fail("no"));
          const refundIf = Exit.isFailure;
          const limited = withLimit(late, { limit, key: "a", onExceeded, refundIf });
          const running = yield* Effect.forkChild(Effect.exit(limited), { startImmediately: true });
          yield* TestClock.adjust("11 seconds");
          yield* limiter.consume(limit, "a");
          yield* TestClock.adjust("5 seconds");
          yield* Fiber.join(running);
          const { allowed, parts } = yield* limiter.peek(limit, "a");
          assert.equal(allowed, false, "the unit of the second window is not the first one's");
          if (limit === both) assert.equal(parts![1]!.remaining, 4);
          yield* TestClock.adjust("44 seconds");
        }
      });
    });
  }

  test("keeps the types of the effects that one and the same limit is put on", async () => {
    const limited = withLimit({ limit: slow, key: "a", onExceeded: "wait" });
    const length: Effect.Effect<number, unknown, RateLimiter> = Effect.map(
      limited(Effect.succeed("hello")),
      (text) => text.length,
    );
    const count: Effect.Effect<number, "no" | RateLimitError, RateLimiter> = limited(
      Effect.fail("no" as const),
    );
    await withLimiter(function* () {
      assert.equal(yield* length, 5);
      const failing = yield* Effect.forkChild(Effect.flip(count));
      yield* TestClock.adjust("10 seconds");
      assert.equal(yield* Fiber.join(failing), "no");
    });
  });

  test("gives the units back for the outcomes of refundIf", async () => {
    await withLimiter(function* (limiter) {
      const refundIf = Exit.isFailure;
      yield* Effect.exit(withLimit(Effect.fail("no"), { limit: slow, key: "a", refundIf }));
      assert.equal((yield* limiter.peek(slow, "a")).allowed, true);
      yield* withLimit(hello, { limit: slow, key: "a", refundIf });
      assert.equal((yield* limiter.peek(slow, "a")).allowed, false);
    });
  });
});
