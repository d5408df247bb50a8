import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Effect, Fiber, Metric, Tracer } from "effect";
import { TestClock } from "effect/testing";

import {
  decisionsMetric,
  limit,
  RateLimiter,
  unitsMetric,
  waitMetric,
} from "../../../adapters/effect.ts";
import { gcra } from "../../../mod.ts";
import { inTestTime } from "./support/in_test_time.ts";

const api = limit("api", gcra({ limit: 2, period: "10s" }));

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
  test("name the call, its limit and its verdict, and never the key", async () => {
    const spans: Tracer.NativeSpan[] = [];
    const tracer = Tracer.make({
      span(options) {
        const span = new Tracer.NativeSpan(options);
        spans.push(span);
        return span;
      },
    });
    const program = Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      yield* limiter.consume(api, "secret", 2);
      yield* Effect.exit(limiter.consumeOrFail(api, "secret"));
      yield* limiter.peek(api, "secret");
      yield* limiter.refund(api, "secret");
      yield* limiter.reset(api, "secret");
      yield* limiter.acquire(api, "secret");
      yield* limiter.consumeAll([{ limit: api, key: "secret" }]);
    });
    await inTestTime(Effect.withTracer(program, tracer));
    const attributes = spans.map(({ name, attributes }) => [name, Object.fromEntries(attributes)]);
    const named = { "tidegate.prefix": "api", "tidegate.algorithm": "gcra/2/10000/2" };
    const allowed = { ...named, "tidegate.allowed": true };
    assert.deepEqual(attributes, [
      ["RateLimiter.consume", { ...allowed, "tidegate.remaining": 0 }],
      ["RateLimiter.consumeOrFail", named],
      ["RateLimiter.peek", { ...named, "tidegate.allowed": false, "tidegate.remaining": 0 }],
      ["RateLimiter.refund", { ...allowed, "tidegate.remaining": 1 }],
      ["RateLimiter.reset", named],
      ["RateLimiter.acquire", { ...allowed, "tidegate.remaining": 1 }],
      ["RateLimiter.consumeAll", { ...allowed, "tidegate.remaining": 0 }],
    ]);
    const failed = spans[1]!.status;
    assert.ok(failed._tag === "Ended" && failed.exit._tag === "Failure");
  });
});
