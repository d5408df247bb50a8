import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Effect, Exit, Fiber, type Layer, Metric, Tracer } from "effect";
import { TestClock } from "effect/testing";

import {
  decisionsMetric,
  layerStore,
  limit,
  RateLimiter,
  unitsMetric,
  waitMetric,
} from "../../../adapters/effect/effect.ts";
import { gcra } from "../../../mod.ts";
import { inTestTime } from "./support/in_test_time.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

const api = limit("api", gcra({ limit: 2, period: "10s", burst: 2 }));

describe("metrics", () => {
  const counted = (verdict: string) =>
    Effect.map(
      Metric.value(
        Metric.withAttributes(decisionsMetric, { prefix: "api", verdict, source: "store" }),
      ),
      ({ count }) => count,
    );

  test("count verdicts, units and waits by prefix", async () => {
    const program = Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      yield* limiter.consume(api, "a", 2);
      yield* limiter.consume(api, "a");
      yield* Effect.exit(limiter.consumeOrFail(api, "a"));
      yield* limiter.peek(api, "a");
      yield* limiter.consume(api, "a", 0);
      const waiting = yield* Effect.forkChild(limiter.acquire(api, "a"));
      yield* TestClock.adjust("5 seconds");
      yield* Fiber.join(waiting);
      yield* Effect.exit(limiter.acquire(api, "a", { maxWait: "1 second" }));
      yield* limiter.consumeAll([{ limit: api, key: "b" }]);

      assert.equal(yield* counted("admitted"), 3);
      assert.equal(yield* counted("refused"), 3);
      const units = yield* Metric.value(Metric.withAttributes(unitsMetric, { prefix: "api" }));
      assert.equal(units.count, 4);
      const waits = yield* Metric.value(Metric.withAttributes(waitMetric, { prefix: "api" }));
      assert.deepEqual([waits.count, waits.min, waits.max], [1, 5_000, 5_000]);
    });
    await inTestTime(Effect.provideService(program, Metric.MetricRegistry, new Map()));
  });
});

describe("spans", () => {
  /** Runs a program in a span named "request"; all spans that came of it. */
  async function spansOf(
    program: Effect.Effect<unknown, unknown, RateLimiter>,
    layer?: Layer.Layer<RateLimiter>,
  ): Promise<Tracer.NativeSpan[]> {
    const spans: Tracer.NativeSpan[] = [];
    const tracer = Tracer.make({
      span(options) {
        const span = new Tracer.NativeSpan(options);
        spans.push(span);
        return span;
      },
    });
    const traced = Effect.withSpan(program, "request").pipe(Effect.exit, Effect.withTracer(tracer));
    await inTestTime(traced, layer);
    return spans;
  }

  test("hold a verdict that takes no time as an event, without the key", async () => {
    const [request, ...others] = await spansOf(Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      yield* limiter.consume(api, "secret", 2);
      yield* Effect.exit(limiter.consumeOrFail(api, "secret"));
      yield* limiter.peek(api, "secret");
      yield* limiter.refund(api, "secret");
      yield* limiter.consumeAll([{ limit: api, key: "secret" }]);
    }));
    assert.deepEqual(others, []);
    const event = (allowed: boolean, remaining: number) => ({
      "tidegate.prefix": "api",
      "tidegate.allowed": allowed,
      "tidegate.remaining": remaining,
    });
    assert.deepEqual(request!.events.map(([name, , attributes]) => [name, attributes]), [
      ["RateLimiter.consume", event(true, 0)],
      ["RateLimiter.consumeOrFail", event(false, 0)],
      ["RateLimiter.consumeAll", event(true, 0)],
    ]);
  });

  const named = { "tidegate.prefix": "api", "tidegate.algorithm": "gcra/2/10000" };

  test("are made of waits", async () => {
    const [request, wait] = await spansOf(Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      yield* limiter.consume(api, "secret", 2);
      const waiting = yield* Effect.forkChild(limiter.acquire(api, "secret"));
      yield* TestClock.adjust("5 seconds");
      yield* Fiber.join(waiting);
    }));
    assert.deepEqual([wait!.name, Object.fromEntries(wait!.attributes)], [
      "RateLimiter.acquire",
      named,
    ]);
    const { status } = wait!;
    assert.ok(status._tag === "Ended" && status.endTime - status.startTime === 5_000_000_000n);
    assert.deepEqual(request!.events.map(([name]) => name), [
      "RateLimiter.consume",
      "RateLimiter.acquire",
    ]);
  });

  test("have no key where a wait is refused", async () => {
    const [request, wait] = await spansOf(Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      yield* limiter.consume(api, "secret", 2);
      yield* Effect.exit(limiter.acquire(api, "secret", { maxWait: "1 second" }));
      yield* Effect.exit(limiter.acquire(api, "secret", { cost: 9 }));
    }));
    const { status } = wait!;
    assert.ok(status._tag === "Ended" && Exit.isSuccess(status.exit));
    assert.deepEqual(
      request!.events.map(([name, , attributes]) => [
        name,
        attributes["tidegate.allowed"],
      ]),
      [
        ["RateLimiter.consume", true],
        ["RateLimiter.acquire", false],
        ["RateLimiter.acquire", false],
      ],
    );
  });

  test("are made of calls on a store that answers by promises", async () => {
    const remote = asyncMemoryStore();
    const program = RateLimiter.use((limiter) => limiter.consume(api, "secret"));
    const [request, call] = await spansOf(program, layerStore(remote));
    assert.deepEqual([call!.name, Object.fromEntries(call!.attributes)], [
      "RateLimiter.consume",
      named,
    ]);
    assert.deepEqual(request!.events.map(([name]) => name), ["RateLimiter.consume"]);
  });
});
