import { acquire } from "../../mod.ts";
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
import { keyOf } from "./key_of.ts";
import type { VectorCase } from "./vectors.ts";

/** Vectors that are a procedure or rows rather than as steps on one key, by id. */
export const PROCEDURES: Readonly<Record<string, (vector: VectorCase) => void | Promise<void>>> = {
  "redis-cell-rates": intervals,
  "gov-quota-docs": intervals,
  "gov-correct-wait": waitsAsTold,
  "gov-threads-20": manyAtOnce,
  "gov-expiration": (vector) => keysInUse(vector, vector["min_retained"]),
  "gov-shrink": (vector) => keysInUse(vector, vector["rows"].map(retained)),
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
  const call = keyOf(gcraOf(vector));
  for (let i = 0; i < vector["procedure"].expect.allowed_total; i++) assert.ok(call(0).allowed);
  for (const { t, expect } of vector.steps ?? []) {
    assert.equal(call(milliseconds(t)).allowed, expect?.["allowed"]);
  }
}

/** Each refused call comes back exactly when the answer said. */
function waitsAsTold(vector: VectorCase): void {
  const call = keyOf(gcraOf(vector));
  const { loop, expect } = vector["procedure"];
  let now = 0;
  let admitted = 0;
  for (let i = 0; i < loop; i++) {
    now += 1;
    const { allowed, retryAfter } = call(now);
    now += retryAfter;
    if (allowed || call(now).allowed) admitted++;
  }
  assert.equal(admitted, expect.allowed_total);
}

/** The keys that still hold use at an instant, and that a store must keep. */
function keysInUse(vector: VectorCase, expected: readonly (readonly string[])[]): void {
  const keys = new Map<string, ReturnType<typeof keyOf>>();
  for (const { t, key, cost } of vector["setup"]) {
    if (!keys.has(key)) keys.set(key, keyOf(gcraOf(vector)));
    keys.get(key)!(milliseconds(t), cost);
  }
  vector["rows"].forEach(({ gc_at }: { gc_at: number }, i: number) => {
    const inUse = [...keys].filter(([, call]) => call(milliseconds(gc_at), 0).resetAfter > 0);
    assert.deepEqual(inUse.map(([key]) => key).sort(), [...expected[i] as string[]].sort());
  });
}

function retained(row: { readonly retained: readonly string[] }): readonly string[] {
  return row.retained;
}

/** Bad options at construction, bad costs at the call. A count of 0, an error there, refuses here. */
function invalid({ rows }: VectorCase): void {
  for (const { burst, count, period_s, cost } of rows) {
    if (count === 0) {
      assert.equal(
        gcra({ limit: 0, period: period_s * 1_000, burst }).step(0, 0, 1)[0].allowed,
        false,
      );
      continue;
    }
    assert.throws(() => {
      const made = gcra({ limit: count, period: period_s * 1_000, burst }) as Algorithm;
      limiterOn(made, memoryStore(), "vectors", {}).consume("key", cost);
    }, RangeError);
  }
}

function backToBack(vector: VectorCase): void {
  const call = keyOf(gcraOf(vector));
  for (let i = 0; i < 1_000; i++) {
    assert.ok(call(0).retryAfter <= milliseconds(vector.params.period));
  }
}

/** Twice the limit at one instant, and one more in the next window. */
function parallel({ rows }: VectorCase): void {
  for (const row of rows) {
    const period = milliseconds(row.window);
    const call = keyOf(fixedWindow({ limit: row.limit, period, anchor: "first" }));
    const answers = Array.from({ length: row.parallel_calls }, () => call(0));
    assert.equal(answers.filter(({ allowed }) => allowed).length, row.allowed);
    if (row.sorted_remaining !== undefined) {
      assert.deepEqual(answers.map(({ remaining }) => remaining), row.sorted_remaining);
    }
    assert.equal(call(period).allowed, row.allowed_one_more);
  }
}

function oftenCalled({ params: { limit, window }, procedure: { calls, every } }: VectorCase): void {
  const call = keyOf(fixedWindow({ limit, period: milliseconds(window), anchor: "first" }));
  for (let i = 0; i < calls; i++) {
    const { allowed, remaining } = call(i * milliseconds(every));
    assert.ok(allowed && remaining >= limit - i - 1);
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
  const call = keyOf(all(
    slidingLog({ limit: 30, period: 1_000 }) as Algorithm,
    slidingLog({ limit: 50, period: 2_000 }) as Algorithm,
  ));
  const admitted = Array.from({ length: 5_001 }, (_, now) => now)
    .filter((now) => call(now).allowed);
  for (const { admitted: n, t_min } of procedure.expect) {
    assert.ok((admitted[n - 1] as number) >= milliseconds(t_min));
  }
  assert.equal(admitted[30], 1_000);
}

/** Takers that come back as soon as they have started. */
function greedyTakers({ params, procedure }: VectorCase): void {
  const period = milliseconds(params.period);
  const call = keyOf(leakyQueue({ limit: params.rate, period, queue: 100 }));
  const takers: number[] = Array.from({ length: procedure.takers }, () => 0);
  const starts: number[] = [];
  while (Math.min(...takers) <= 3 * period) {
    const now = Math.min(...takers);
    const start = now + call(now).delay;
    takers[takers.indexOf(now)] = start;
    starts.push(start);
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
      const call = acquire(api, "key", { cost, maxWait });
      call.then(() => outcome = true, () => outcome = false);
      await clock.pass(maxWait);
      assert.equal(outcome, ok);
    }
  }
}
