import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { all } from "../../../core/algorithms/all.ts";
import { fixedWindow } from "../../../core/algorithms/fixed_window.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import { leakyBucket } from "../../../core/algorithms/leaky_bucket.ts";
import { leakyQueue } from "../../../core/algorithms/leaky_queue.ts";
import { lockout } from "../../../core/algorithms/lockout.ts";
import { slidingCounter } from "../../../core/algorithms/sliding_counter.ts";
import { slidingLog } from "../../../core/algorithms/sliding_log.ts";
import { slidingWindow } from "../../../core/algorithms/sliding_window.ts";
import { tokenBucket } from "../../../core/algorithms/token_bucket.ts";
import { type Bound, rateBound, refillBound, spanBound } from "../bound.ts";
import { EXACT, maxDebt, rateDebt, refillDebt, windowDebt } from "./max_debt.ts";
import { allRule } from "../models/all_rule.ts";
import { fixedWindowRule } from "../models/fixed_window_rule.ts";
import { gcraRule } from "../models/gcra_rule.ts";
import { leakyBucketRule } from "../models/leaky_bucket_rule.ts";
import { leakyQueueRule } from "../models/leaky_queue_rule.ts";
import { lockoutRule } from "../models/lockout_rule.ts";
import type { Rule } from "../models/rule.ts";
import { slidingCounterRule } from "../models/sliding_counter_rule.ts";
import { slidingLogRule } from "../models/sliding_log_rule.ts";
import { slidingWindowRule } from "../models/sliding_window_rule.ts";
import { tokenBucketRule } from "../models/token_bucket_rule.ts";
import {
  counterOptions,
  lockoutOptions,
  logOptions,
  precisionOptions,
  queueOptions,
  rateOptions,
  refillOptions,
  windowOptions,
} from "./policies.ts";
import { gridsOf, type Subject } from "./subject.ts";
import { printable } from "./subject_arbitrary.ts";

/** The factories of `tidegate`, and the token bucket once for each way to refill it. */
export type SubjectName =
  | "fixedWindow"
  | "slidingLog"
  | "slidingCounter"
  | "slidingWindow"
  | "tokenBucket"
  | "tokenBucketByInterval"
  | "leakyBucket"
  | "leakyQueue"
  | "gcra"
  | "lockout"
  | "all";

/** Everything that one factory's options say of its algorithm. */
interface Kind<Options> {
  readonly factory: string;
  readonly options: fc.Arbitrary<Options>;
  readonly algorithm: (options: Options) => Algorithm;
  readonly rule: (options: Options & { readonly maxDebt: number }) => Rule;
  /** The most that a key may owe, as the documentation states it. */
  readonly maxDebt: (options: Options) => number;
  readonly bounds: (options: Options) => readonly Bound[];
  readonly grids?: (options: Options) => readonly number[];
}

function subjectsOf<Options>(kind: Kind<Options>): fc.Arbitrary<Subject> {
  return kind.options.map((options) => {
    return printable({
      algorithm: kind.algorithm(options),
      rule: kind.rule({ ...options, maxDebt: kind.maxDebt(options) }),
      bounds: kind.bounds(options),
      grids: kind.grids?.(options),
      label: `${kind.factory}(${fc.stringify(options)})`,
    });
  });
}

function atoms(): fc.Arbitrary<Subject> {
  return fc.oneof(...atomNames.map((name) => subjects[name]()));
}

/** Two or three algorithms, one of them seldom made of several itself. */
function composites(): fc.Arbitrary<Subject> {
  const part = fc.oneof(
    { weight: 9, arbitrary: atoms() },
    { weight: 1, arbitrary: fc.array(atoms(), { minLength: 1, maxLength: 2 }).map(composite) },
  );
  return fc.array(part, { minLength: 1, maxLength: 3 }).map(composite);
}

function composite(parts: readonly Subject[]): Subject {
  return printable({
    algorithm: all(...parts.map((part) => part.algorithm)) as Algorithm,
    rule: allRule(...parts.map((part) => part.rule as Rule)),
    bounds: parts.flatMap((part) => part.bounds ?? []),
    grids: parts.flatMap(gridsOf),
    label: `all(${parts.map((part) => part.label).join(", ")})`,
  });
}

/**
 * Random algorithms of each factory, with awkward options, the model that tells what they should
 * answer, and the bounds that they promise.
 *
 * @example
 * ```ts
 * import { algorithmLaws, subjects } from "tidegate/testing";
 *
 * for (const law of algorithmLaws(subjects.gcra())) law.run({ numRuns: 5 });
 * ```
 */
export const subjects: Readonly<Record<SubjectName, () => fc.Arbitrary<Subject>>> = {
  fixedWindow: () =>
    subjectsOf({
      factory: "fixedWindow",
      options: windowOptions(),
      algorithm: fixedWindow,
      rule: fixedWindowRule,
      maxDebt: windowDebt,
      bounds: ({ limit, period }) => [spanBound(2 * limit, period)],
      grids: ({ period }) => [period],
    }),
  slidingLog: () =>
    subjectsOf({
      factory: "slidingLog",
      options: logOptions(),
      algorithm: slidingLog,
      rule: slidingLogRule,
      maxDebt: ({ limit }) => maxDebt(limit),
      bounds: ({ limit, period }) => [spanBound(limit, period)],
      grids: ({ period }) => [period],
    }),
  slidingCounter: () =>
    subjectsOf({
      factory: "slidingCounter",
      options: counterOptions(),
      algorithm: slidingCounter,
      rule: slidingCounterRule,
      maxDebt: ({ limit, period }) => maxDebt(limit, EXACT / period),
      bounds: ({ limit, period }) => [spanBound(2 * limit - 1, period)],
    }),
  slidingWindow: () =>
    subjectsOf({
      factory: "slidingWindow",
      options: precisionOptions(),
      algorithm: slidingWindow,
      rule: slidingWindowRule,
      maxDebt: ({ limit }) => maxDebt(limit),
      bounds: ({ limit, period, precision }) => [
        spanBound(2 * limit, period),
        spanBound(limit, period - precision + 1),
      ],
      grids: ({ period, precision }) => [precision, period],
    }),
  tokenBucket: () =>
    subjectsOf({
      factory: "tokenBucket",
      options: rateOptions(),
      algorithm: tokenBucket,
      rule: tokenBucketRule,
      maxDebt: rateDebt,
      bounds: (options) => [rateBound(options)],
    }),
  tokenBucketByInterval: () =>
    subjectsOf({
      factory: "tokenBucket",
      options: refillOptions().map((options) => ({ ...options, refill: "interval" as const })),
      algorithm: tokenBucket,
      rule: tokenBucketRule,
      maxDebt: refillDebt,
      bounds: (options) => [refillBound(options)],
      grids: ({ period }) => [period],
    }),
  leakyBucket: () =>
    subjectsOf({
      factory: "leakyBucket",
      options: rateOptions(),
      algorithm: leakyBucket,
      rule: leakyBucketRule,
      maxDebt: rateDebt,
      bounds: (options) => [rateBound(options)],
    }),
  leakyQueue: () =>
    subjectsOf({
      factory: "leakyQueue",
      options: queueOptions(),
      algorithm: leakyQueue,
      rule: leakyQueueRule,
      maxDebt: ({ limit, period, queue }) => rateDebt({ limit, period, burst: queue + 1 }),
      bounds: ({ limit, period, queue }) => [rateBound({ limit, period, burst: queue + 1 })],
    }),
  gcra: () =>
    subjectsOf({
      factory: "gcra",
      options: rateOptions(),
      algorithm: gcra,
      rule: gcraRule,
      maxDebt: rateDebt,
      bounds: (options) => [rateBound(options)],
    }),
  lockout: () =>
    subjectsOf({
      factory: "lockout",
      options: lockoutOptions(),
      algorithm: lockout,
      rule: lockoutRule,
      maxDebt: ({ limit }) => maxDebt(limit),
      bounds: ({ limit, period, lock }) => [spanBound(2 * limit - 1, Math.min(period, lock))],
      grids: ({ period, lock }) => [period, lock],
    }),
  all: composites,
};

/** The names of `subjects` but `all`. */
const atomNames = (Object.keys(subjects) as SubjectName[]).filter((name) => name !== "all");

/**
 * A random algorithm of any factory, with awkward options.
 *
 * @example
 * ```ts
 * import { algorithms } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(algorithms(), ({ algorithm }) => {
 *   return algorithm.step(algorithm.initial, 0, algorithm.capacity)[0].allowed;
 * }));
 * ```
 */
export function algorithms(): fc.Arbitrary<Subject> {
  return fc.oneof(atoms(), composites());
}
