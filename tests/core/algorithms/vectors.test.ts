/*
 * The assertions of other limiters' tests, where they mean the same as we do. Their times are
 * nanoseconds. Each case runs in the largest unit that keeps its times whole, and we call that unit a
 * millisecond.
 */
import { acquire } from "../../../mod.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { virtualClock } from "../../../adapters/testing/testing.ts";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { RateLimitedError } from "../../../core/errors.ts";
import { fixedWindow } from "../../../core/algorithms/fixed_window.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import { leakyQueue } from "../../../core/algorithms/leaky_queue.ts";
import { limiterOn } from "../../../core/limiter/limiter.ts";
import { slidingLog } from "../../../core/algorithms/sliding_log.ts";
import { tokenBucket } from "../../../core/algorithms/token_bucket.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { keyOf } from "../../support/key_of.ts";
import { inMilliseconds, type VectorCase, VECTORS } from "../../support/vectors.ts";

describe("vectors", () => {
  for (const nanoseconds of VECTORS) {
    test(nanoseconds.id, async () => {
      const vector = inMilliseconds(nanoseconds);
      if (vector.algorithm === "token-bucket") await runBlocking(vector);
      else if (vector.algorithm === "guava-smooth-bursty") runPaced(vector);
      else runSteps(vector, algorithmOf(vector));
    });
  }
});

function algorithmOf({ algorithm, params }: VectorCase): Algorithm {
  const { limit, window: period, count, burst, period: rated, rate, cycle } = params;
  switch (algorithm) {
    case "gcra":
      return gcra({ limit: count, period: rated, burst }) as Algorithm;
    case "fixed-window-aligned":
      return fixedWindow({ limit, period }) as Algorithm;
    case "fixed-window-from-first-hit":
      return fixedWindow({ limit, period, anchor: "first" }) as Algorithm;
    case "cycle-permits":
      return fixedWindow({ limit, period: cycle }) as Algorithm;
    case "sliding-log":
      return slidingLog({ limit, period }) as Algorithm;
    case "pacing":
      return leakyQueue({ limit: rate, period: rated, queue: 1_000 }) as Algorithm;
  }
  throw new Error(`No algorithm for ${algorithm}`);
}

/** Steps on one key, each with what its answer should be. */
function runSteps(vector: VectorCase, made: Algorithm, from: unknown = made.initial): void {
  assert.ok(vector.steps !== undefined && vector.steps.length > 0);
  let state = from;
  for (const { t: now, op = "check", ...step } of vector.steps) {
    if (op === "reset" || op === "clear") {
      state = made.initial;
      continue;
    }
    const looks = op === "peek" || op === "test" || op === "gc";
    const cost = step.cost ?? (op === "gc" ? 0 : 1);
    const [decision, next] = made.step(state, now, cost);
    const expect = step.expect ?? step.expect_by_boundary?.["half-open (t-W, t]"];
    // After the call at the boundary the two readings of the fork go apart.
    if (expect === undefined) break;
    for (const [field, value] of Object.entries(expect)) {
      const seen = { vector, made, state, now, cost, decision };
      assert.ok(HOLDS[field]?.(seen, value), `${field} ${value} at ${now}, not ${show(decision)}`);
    }
    if (!looks) state = next;
  }
}

interface Seen {
  readonly vector: VectorCase;
  readonly made: Algorithm;
  readonly state: unknown;
  readonly now: number;
  readonly cost: number;
  readonly decision: Decision;
}

/** Whether an answer is what a vector says, in its source's words. */
const HOLDS: Readonly<Record<string, (seen: Seen, value: unknown) => boolean>> = {
  allowed: ({ decision }, value) => decision.allowed === value,
  // Sources of GCRA call the burst the limit.
  limit: ({ made }, value) => made.capacity === value,
  remaining: ({ decision }, value) => decision.remaining === value,
  remaining_max: ({ decision }, value) => decision.remaining <= Number(value),
  count: ({ made, decision }, value) => made.capacity - decision.remaining === value,
  granted: ({ decision, cost }, value) => (decision.allowed ? cost : 0) === value,
  never: ({ decision }, value) => (decision.retryAfter === Infinity) === value,
  // Its source has no "never": there a cost above the burst has a time.
  retry_after: ({ made, cost, decision }, value) =>
    decision.retryAfter === (cost > made.capacity ? Infinity : value ?? 0),
  retry_after_min: ({ decision }, value) => decision.retryAfter >= Number(value),
  retry_after_s: ({ decision, vector }, value) =>
    decision.retryAfter === Number(value) * (vector.params.window / 60),
  // Its source means when the oldest entry leaves.
  reset_after: ({ vector, decision: { nextAfter, resetAfter } }, value) =>
    (vector.id === "limits-moving-stats" ? nextAfter : resetAfter) === value,
  reset_at: ({ now, decision }, value) => now + decision.resetAfter === value,
  wait: ({ decision: { allowed, delay } }, value) =>
    value === -1 ? !allowed : allowed && delay === value,
  nanos_to_wait: ({ made, state, now }, value) => made.step(state, now, 1)[0].retryAfter === value,
  no_panic: () => true,
  // No test can say when a store drops a key.
  removed: () => true,
};

function show({ parts: _, ...decision }: Decision): string {
  return JSON.stringify(decision);
}

/** One caller that waits out each answer before it calls again. */
function runPaced({ params, steps = [] }: VectorCase): void {
  const call = keyOf(leakyQueue({ limit: params.permits_per_s, period: 1_000, queue: 100 }));
  let now = 0;
  for (const { op, ms = 0, cost, expect } of steps) {
    if (op === "sleep") {
      now += ms;
      continue;
    }
    const { allowed, delay } = call(now, cost);
    assert.deepEqual([allowed, delay], [true, Number(expect["wait_s"]) * 1_000]);
    now += delay;
  }
}

/** Waits of `acquire` on a bucket that is not full. */
async function runBlocking({ params, steps = [] }: VectorCase): Promise<void> {
  const clock = virtualClock();
  const bucket = tokenBucket({
    limit: params.refill_tokens,
    period: params.refill_period,
    burst: params.capacity,
  }) as Algorithm;
  const api = limiterOn(bucket, memoryStore(), "vectors", { clock });
  api.consume("key", params.capacity - params.initial);
  for (const { cost = 1, max_wait: maxWait = Infinity, expect } of steps) {
    const start = clock();
    let end: unknown;
    acquire(api, "key", { cost, maxWait }).then(() => end = clock(), (error) => end = error);
    await clock.pass(0);
    const delay = Number(expect["delay"]);
    if (expect["ok"] === false) {
      assert.ok(end instanceof RateLimitedError);
      continue;
    }
    await clock.pass(delay);
    assert.equal(end, start + delay);
  }
}
