import assert from "node:assert/strict";
import { virtualClock } from "../../adapters/testing/testing.ts";
import type { Algorithm } from "../../core/algorithm.ts";
import { all } from "../../core/algorithms/all.ts";
import { fixedWindow } from "../../core/algorithms/fixed_window.ts";
import { gcra } from "../../core/algorithms/gcra.ts";
import { leakyQueue } from "../../core/algorithms/leaky_queue.ts";
import { limiterOn } from "../../core/limiter/limiter.ts";
import { slidingLog } from "../../core/algorithms/sliding_log.ts";
import { memoryStore } from "../../stores/memory/memory_store.ts";
import type { VectorCase } from "./vectors.ts";

/** Vectors that are a procedure or rows rather than as steps on one key, by id. */
export const PROCEDURES: Readonly<Record<string, (vector: VectorCase) => void | Promise<void>>> = {
  "redis-cell-rates": intervals,
  "gov-quota-docs": intervals,
  "gov-correct-wait": waitsAsTold,
  "gov-threads-20": manyAtOnce,
  "gov-expiration": (vector) => keysInUse(vector, vector.min_retained),
  "gov-shrink": (vector) => keysInUse(vector, vector.rows.map(retained)),
  "tc-invalid": invalid,
  "rr-retry-le-period": backToBack,
  "seth-2N-parallel": parallel,
  "seth-65525-per-s": oftenCalled,
  "envoy-window-arithmetic": windowArithmetic,
  "pyrate-two-rates-counts": twoRates,
  "uber-100-per-s": greedyTakers,
  "guava-try-acquire": patience,
};

function milliseconds(nanoseconds: number): number {
  return nanoseconds / 1_000_000;
}

function gcraOf({ params: { count, period, burst } }: VectorCase): Algorithm {
  return gcra({ limit: count, period: milliseconds(period), burst }) as Algorithm;
}

/** Rates and the interval between two units, or the error. */
function intervals({ rows }: VectorCase): void {
  for (const { count: limit, period, burst = limit, interval, full_refill, error } of rows) {
    const make = () => gcra({ limit, period: milliseconds(period), burst });
    if (error !== undefined) {
      assert.throws(make, RangeError);
      continue;
    }
    const { step, initial } = make();
    assert.equal(step(initial, 0, 1)[0].resetAfter, milliseconds(interval));
    if (full_refill === undefined) continue;
    assert.equal(step(initial, 0, burst)[0].resetAfter, milliseconds(full_refill));
  }
}

/** As many callers at one instant as the burst, and two later. */
function manyAtOnce(vector: VectorCase): void {
  const { step, initial } = gcraOf(vector);
  let state = initial;
  for (let i = 0; i < vector.procedure.expect.allowed_total; i++) {
    const [decision, next] = step(state, 0, 1);
    assert.equal(decision.allowed, true);
    state = next;
  }
  for (const { t, expect } of vector.steps ?? []) {
    assert.equal(step(state, milliseconds(t), 1)[0].allowed, expect?.allowed);
  }
}

/** Each refused call comes back exactly when the answer said. */
function waitsAsTold(vector: VectorCase): void {
  const made = gcraOf(vector);
  const { loop, expect } = vector.procedure;
  let state = made.initial;
  let now = 0;
  let admitted = 0;
  for (let i = 0; i < loop; i++) {
    now += 1;
    let [decision, next] = made.step(state, now, 1);
    if (!decision.allowed) {
      now += decision.retryAfter;
      [decision, next] = made.step(state, now, 1);
    }
    if (decision.allowed) admitted++;
    state = next;
  }
  assert.equal(admitted, expect.allowed_total);
}

/** Which keys still hold use at an instant: those that a store must keep. */
function keysInUse(vector: VectorCase, expected: readonly (readonly string[])[]): void {
  const made = gcraOf(vector);
  const states = new Map<string, unknown>();
  for (const { t, key, cost = 1 } of vector.setup) {
    states.set(key, made.step(states.get(key) ?? made.initial, milliseconds(t), cost)[1]);
  }
  vector.rows.forEach(({ gc_at }: { gc_at: number }, i: number) => {
    const inUse = [...states].filter(([, state]) =>
      made.step(state, milliseconds(gc_at), 0)[0].resetAfter > 0
    );
    assert.deepEqual(inUse.map(([key]) => key).sort(), [...expected[i] as string[]].sort());
  });
}

function retained(row: { readonly retained: readonly string[] }): readonly string[] {
  return row.retained;
}

/** Bad options at construction, bad costs at the call. */
function invalid({ rows }: VectorCase): void {
  for (const { burst, count, period_s, cost } of rows) {
    assert.throws(() => {
      const made = gcra({ limit: count, period: period_s * 1_000, burst }) as Algorithm;
      limiterOn(made, memoryStore(), "vectors", {}).consume("key", cost);
    }, RangeError);
  }
}

function backToBack(vector: VectorCase): void {
  const made = gcraOf(vector);
  let state = made.initial;
  for (let i = 0; i < 1_000; i++) {
    const [decision, next] = made.step(state, 0, 1);
    assert.ok(decision.retryAfter <= milliseconds(vector.params.period));
    state = next;
  }
}

/** Twice the limit at one instant, and one more in the next window. */
function parallel({ rows }: VectorCase): void {
  for (const row of rows) {
    const period = milliseconds(row.window);
    const made = fixedWindow({ limit: row.limit, period, anchor: "first" });
    let state = made.initial;
    const remaining: number[] = [];
    let admitted = 0;
    for (let i = 0; i < row.parallel_calls; i++) {
      const [decision, next] = made.step(state, 0, 1);
      if (decision.allowed) admitted++;
      remaining.push(decision.remaining);
      state = next;
    }
    assert.equal(admitted, row.allowed);
    if (row.sorted_remaining !== undefined) assert.deepEqual(remaining, row.sorted_remaining);
    assert.equal(made.step(state, period, 1)[0].allowed, row.allowed_one_more);
  }
}

function oftenCalled({ params: { limit, window }, procedure: { calls, every } }: VectorCase): void {
  const made = fixedWindow({ limit, period: milliseconds(window), anchor: "first" });
  let state = made.initial;
  for (let i = 0; i < calls; i++) {
    const [decision, next] = made.step(state, i * milliseconds(every), 1);
    assert.ok(decision.allowed && decision.remaining >= limit - i - 1);
    state = next;
  }
}

/** Seconds until the window ends, in windows of each unit. */
function windowArithmetic({ rows }: VectorCase): void {
  const seconds: Record<string, number> = { second: 1, minute: 60, hour: 3_600, day: 86_400 };
  for (const { now_s, unit, window_start_s, reset_in_s } of rows) {
    const period = (seconds[unit] as number) * 1_000;
    const made = fixedWindow({ limit: 1, period });
    const [decision] = made.step(made.initial, now_s * 1_000, 1);
    assert.equal(decision.resetAfter, reset_in_s * 1_000);
    assert.equal(now_s * 1_000 + decision.resetAfter - period, window_start_s * 1_000);
  }
}

/** Two logs as one: a call each millisecond, and when the n-th was admitted. */
function twoRates({ procedure }: VectorCase): void {
  const made = all(
    slidingLog({ limit: 30, period: 1_000 }) as Algorithm,
    slidingLog({ limit: 50, period: 2_000 }) as Algorithm,
  );
  const admitted: number[] = [];
  let state = made.initial;
  for (let now = 0; now <= 5_000; now++) {
    const [decision, next] = made.step(state, now, 1);
    if (decision.allowed) admitted.push(now);
    state = next;
  }
  for (const { admitted: n, t_min } of procedure.expect) {
    assert.ok((admitted[n - 1] as number) >= milliseconds(t_min));
  }
  assert.equal(admitted[30], 1_000);
}

/** Takers that come back as soon as they have started. */
function greedyTakers({ params, procedure }: VectorCase): void {
  const period = milliseconds(params.period);
  const { step, initial } = leakyQueue({ limit: params.rate, period, queue: 100 });
  const takers: number[] = Array.from({ length: procedure.takers }, () => 0);
  const starts: number[] = [];
  let state = initial;
  while (Math.min(...takers) <= 3 * period) {
    const now = Math.min(...takers);
    const [decision, next] = step(state, now, 1);
    takers[takers.indexOf(now)] = now + decision.delay;
    starts.push(now + decision.delay);
    state = next;
  }
  for (const { t, count } of procedure.expect_counts) {
    assert.equal(starts.filter((start) => start < milliseconds(t)).length, count);
  }
}

/** Calls with and without patience; in our words a negative one is no wait at all. */
async function patience({ params, rows }: VectorCase): Promise<void> {
  for (const { seq } of rows) {
    const clock = virtualClock();
    const limit = params.permits_per_s;
    const queue = leakyQueue({ limit, period: 1_000, queue: 100 }) as Algorithm;
    const api = limiterOn(queue, memoryStore(), "vectors", { clock });
    for (const { sleep_ms, cost = 1, max_wait_ms, ok } of seq) {
      if (sleep_ms !== undefined) {
        await clock.pass(sleep_ms);
        continue;
      }
      const maxWait = max_wait_ms > 0 ? max_wait_ms : 0;
      let outcome: unknown;
      const call = api.acquire("key", { cost, maxWait });
      call.then(() => outcome = true, () => outcome = false);
      await clock.pass(maxWait);
      assert.equal(outcome, ok);
    }
  }
}
