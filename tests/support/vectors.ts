import { readFileSync } from "node:fs";

import { greatestCommonDivisor } from "../../core/options/checks.ts";

/** The source's assertions about an answer, by the source's names. */
export type Expected = Readonly<Record<string, number | boolean | null>>;

/** A call of a vector; times in nanoseconds. */
export interface VectorStep {
  readonly t: number;
  readonly op?: string;
  readonly cost?: number;
  readonly ms?: number;
  readonly max_wait?: number;
  readonly expect: Expected;
  readonly expect_by_boundary?: Readonly<Record<string, Expected>>;
}

/** A case. */
export interface VectorCase {
  readonly id: string;
  readonly algorithm: string;
  // deno-lint-ignore no-explicit-any -- each algorithm has numbers of its own
  readonly params: any;
  readonly steps?: readonly VectorStep[];
  // deno-lint-ignore no-explicit-any -- each case has facts of its own
  readonly [fact: string]: any;
}

/** The cases of tests/vectors/limiters.json. */
export const VECTORS: readonly VectorCase[] = JSON.parse(
  readFileSync(new URL("../vectors/limiters.json", import.meta.url), "utf8"),
).cases;

/** Fields and parameters that are times. */
const TIMES = new Set([
  "t",
  "period",
  "window",
  "cycle",
  "refill_period",
  "max_wait",
  "retry_after",
  "retry_after_min",
  "reset_after",
  "reset_at",
  "wait",
  "delay",
  "nanos_to_wait",
]);

/**
 * The same case in the largest unit, up to a millisecond, that leaves every time whole: such a unit
 * is then a millisecond. The arithmetic is the same on every scale.
 */
export function inMilliseconds(vector: VectorCase): VectorCase {
  const times: number[] = [];
  walk(vector, (value) => {
    times.push(Math.abs(value));
    return value;
  });
  const unit = times.filter((time) => time > 0).reduce(greatestCommonDivisor, 1_000_000);
  // A whole number of units: no time loses anything.
  return walk(vector, (value) => value / unit) as VectorCase;
}

function walk(value: unknown, change: (time: number) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      TIMES.has(name) && typeof item === "number" && item !== -1
        ? change(item)
        : walk(item, change),
    ]),
  );
}
