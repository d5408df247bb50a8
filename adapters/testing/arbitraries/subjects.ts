/*
 * Subjects: an algorithm together with its model and its bounds, drawn at random. One table ties
 * each factory to what tests know about it, so that a new algorithm is added to every law at once.
 */

import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { CalendarUnit } from "../../../core/arithmetic/calendar.ts";
import { all } from "../../../core/algorithms/all.ts";
import { errorMessage } from "../../../core/options/checks.ts";
import {
  type AlgorithmName,
  algorithmOf,
  type LimitOptions,
} from "../../../core/rules/limit_options.ts";
import { type Bound, rateBound, refillBound, spanBound } from "../bound.ts";
import { allRule } from "../models/all_rule.ts";
import { calendarWindowRule } from "../models/calendar_rule.ts";
import {
  growingLockoutRule,
  lockoutRule,
  slidingLogRule,
  slidingWindowRule,
} from "../models/log_rules.ts";
import {
  gcraRule,
  leakyBucketRule,
  leakyQueueRule,
  type LeakyQueueRuleOptions,
  type RateRuleOptions,
  tokenBucketRule,
} from "../models/rate_rules.ts";
import type { AlgorithmRule } from "../models/algorithm_rule.ts";
import { fixedWindowRule, slidingCounterRule } from "../models/window_rules.ts";
import { EXACT, maxDebt, rateDebt, refillDebt } from "./max_debt.ts";
import {
  calendarOptions,
  counterOptions,
  growingLockoutOptions,
  lockoutOptions,
  logOptions,
  precisionOptions,
  queueOptions,
  rateOptions,
  refillOptions,
  windowOptions,
} from "./policies.ts";

/**
 * An algorithm put to the laws, with the facts that the laws may know of it beyond its interface.
 * All but the algorithm may be left out; missing parts are not checked.
 *
 * @typeParam State The algorithm's memory of a key.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { gcraRule, rateBound, type Subject } from "tidegate/testing";
 *
 * const options = { limit: 14, period: 884_090, burst: 40 };
 * const subject: Subject = {
 *   algorithm: gcra(options),
 *   rule: gcraRule(options),
 *   bounds: [rateBound(options)],
 * };
 * ```
 */
export interface Subject<State = unknown> {
  /** The algorithm. */
  readonly algorithm: Algorithm<State>;
  /** Its model: the answers it should give, stated independently. */
  readonly rule?: AlgorithmRule | undefined;
  /** The most that it may admit over any span. */
  readonly bounds?: readonly Bound[] | undefined;
  /**
   * Milliseconds at whose multiples something happens, such as a period or a precision; schedules
   * visit them. Without it the periods and emission intervals of the policies.
   */
  readonly grids?: readonly number[] | undefined;
  /** How a counterexample calls it; the algorithm's `id` without it. */
  readonly label?: string | undefined;
}

/**
 * The milliseconds at whose multiples something happens to a subject.
 *
 * @param subject The subject.
 * @returns At least one number, each at least 1.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { gridsOf } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const algorithm = gcra({ limit: 4, period: "1s", burst: 4 });
 * assert.deepEqual(gridsOf({ algorithm }), [1_000, 250]);
 * ```
 */
export function gridsOf(subject: Subject): readonly number[] {
  return subject.grids ?? subject.algorithm.policies.flatMap(({ limit, period }) => [
    period,
    Math.ceil(period / Math.max(1, limit)),
  ]);
}

/** An algorithm, a subject (an algorithm with its model and bounds), several, or random ones. */
export type Subjects<State = unknown> =
  | Algorithm<State>
  | Subject<State>
  | readonly (Algorithm<State> | Subject<State>)[]
  | fc.Arbitrary<Algorithm<State> | Subject<State>>;

/**
 * Random subjects, from any form of `Subjects`.
 *
 * @throws {TypeError} If it is no algorithm, no subject, no list of either and no arbitrary.
 */
export function subjectArbitrary<State>(subjects: Subjects<State>): fc.Arbitrary<Subject> {
  if (isArbitrary(subjects)) return subjects.map(subjectOf);
  return fc.constantFrom(...listed(subjects).map(subjectOf));
}

/** Several subjects at once: all that are listed, or some at random. */
export function subjectGroups<State>(
  subjects: Subjects<State>,
): fc.Arbitrary<readonly Subject[]> {
  return isArbitrary(subjects)
    ? fc.array(subjects.map(subjectOf), { minLength: 2, maxLength: 3 })
    : fc.constant(listed(subjects).map(subjectOf));
}

function isArbitrary<State>(
  subjects: Subjects<State>,
): subjects is fc.Arbitrary<Algorithm<State> | Subject<State>> {
  return typeof subjects === "object" && subjects !== null && "generate" in subjects;
}

function listed<State>(
  subjects: Exclude<Subjects<State>, fc.Arbitrary<unknown>>,
): readonly (Algorithm<State> | Subject<State>)[] {
  const list = (Array.isArray(subjects) ? subjects : [subjects]) as readonly Algorithm<State>[];
  const isOne = (one: unknown) =>
    typeof one === "object" && one !== null && ("step" in one || "algorithm" in one);
  if (list.length > 0 && list.every(isOne)) return list;
  const rule = "it needs an algorithm, a subject, a list or an arbitrary of either";
  throw new TypeError(errorMessage("check laws", rule, subjects));
}

function subjectOf<State>(drawn: Algorithm<State> | Subject<State>): Subject {
  return printable(("step" in drawn ? { algorithm: drawn } : drawn) as Subject);
}

/** A subject that fast-check prints by its label, not by its functions. */
export function printable(subject: Subject): Subject {
  const toString = () => subject.label ?? subject.algorithm.id;
  return { ...subject, [fc.toStringMethod]: toString } as Subject;
}

/** The factories, with `tokenBucket` once for each way to refill it, and one of them blockable. */
export type KindName =
  | Exclude<AlgorithmName, "concurrency">
  | "tokenBucketByInterval"
  | "growingLockout"
  | "blockable";

/** The draws for a factory. */
export interface DrawnKind {
  /** Its options as a rule writes them. */
  limits(): fc.Arbitrary<LimitOptions>;
  subjects(): fc.Arbitrary<Subject>;
}

/** Everything that the options of one factory determine about its algorithm. */
interface Kind<Options> {
  readonly algorithm: AlgorithmName;
  readonly options: () => fc.Arbitrary<Options>;
  readonly rule: (options: Options & { readonly maxDebt: number }) => AlgorithmRule;
  /** The most that a key may owe, according to the documentation. */
  readonly maxDebt: (options: Options) => number;
  readonly bounds: (options: Options) => readonly Bound[];
  readonly grids?: (options: Options) => readonly number[];
}

function kindOf<Options extends Omit<LimitOptions, "algorithm">>(
  { algorithm, options: drawn, rule, maxDebt, bounds, grids }: Kind<Options>,
): DrawnKind {
  function subjectOf(options: Options): Subject {
    const most = maxDebt(options);
    return printable({
      algorithm: algorithmOf({ algorithm, ...options }),
      rule: { ...rule({ ...options, maxDebt: most }), maxDebt: BigInt(most) },
      bounds: bounds(options),
      grids: grids?.(options),
      label: `${algorithm}(${fc.stringify(options)})`,
    });
  }
  return {
    limits: () => drawn().map((options) => ({ algorithm, ...options })),
    subjects: () => drawn().map(subjectOf),
  };
}

const rate = {
  options: rateOptions,
  maxDebt: rateDebt,
  bounds: (options: RateRuleOptions) => [rateBound(options)],
};

/** The rate at which a queue admits. */
function admittedAtOnce({ limit, period, queue, burst = 1 }: LeakyQueueRuleOptions) {
  return { limit, period, burst: queue + burst };
}

/** The shortest windows of a calendar where clocks change by an hour, at an hour that is whole. */
const SHORTEST: Readonly<Record<CalendarUnit, number>> = {
  hour: 3_600_000,
  day: 23 * 3_600_000,
  week: (7 * 24 - 1) * 3_600_000,
  month: (28 * 24 - 1) * 3_600_000,
  year: 365 * 24 * 3_600_000,
};

/** Every factory of a single limit, and how to draw it. */
export const kinds: Readonly<Record<KindName, DrawnKind>> = {
  fixedWindow: kindOf({
    algorithm: "fixedWindow",
    options: windowOptions,
    rule: fixedWindowRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, period }) => [spanBound(2 * limit, period)],
    grids: ({ period }) => [period],
  }),
  calendarWindow: kindOf({
    algorithm: "calendarWindow",
    options: calendarOptions,
    rule: calendarWindowRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, every }) => [spanBound(2 * limit, SHORTEST[every])],
    grids: () => [1_800_000, 86_400_000],
  }),
  slidingLog: kindOf({
    algorithm: "slidingLog",
    options: logOptions,
    rule: slidingLogRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, period }) => [spanBound(limit, period)],
    grids: ({ period }) => [period],
  }),
  slidingCounter: kindOf({
    algorithm: "slidingCounter",
    options: counterOptions,
    rule: slidingCounterRule,
    maxDebt: ({ limit, period }) => maxDebt(limit, EXACT / period),
    bounds: ({ limit, period }) => [spanBound(2 * limit - 1, period)],
  }),
  slidingWindow: kindOf({
    algorithm: "slidingWindow",
    options: precisionOptions,
    rule: slidingWindowRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, period, precision }) => [
      spanBound(2 * limit, period),
      spanBound(limit, period - precision + 1),
    ],
    grids: ({ period, precision }) => [precision, period],
  }),
  tokenBucket: kindOf({ ...rate, algorithm: "tokenBucket", rule: tokenBucketRule }),
  tokenBucketByInterval: kindOf({
    algorithm: "tokenBucket",
    options: () => refillOptions().map((drawn) => ({ ...drawn, refill: "interval" as const })),
    rule: tokenBucketRule,
    maxDebt: refillDebt,
    bounds: (options) => [refillBound(options)],
    grids: ({ period }) => [period],
  }),
  leakyBucket: kindOf({ ...rate, algorithm: "leakyBucket", rule: leakyBucketRule }),
  leakyQueue: kindOf({
    algorithm: "leakyQueue",
    options: queueOptions,
    rule: leakyQueueRule,
    maxDebt: (options) => rateDebt(admittedAtOnce(options)),
    bounds: (options) => [rateBound(admittedAtOnce(options))],
  }),
  lockout: kindOf({
    algorithm: "lockout",
    options: lockoutOptions,
    rule: lockoutRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, period, lock }) => [spanBound(2 * limit - 1, Math.min(period, lock))],
    grids: ({ period, lock }) => [period, lock],
  }),
  growingLockout: kindOf({
    algorithm: "lockout",
    options: growingLockoutOptions,
    rule: growingLockoutRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, period, lock }) => [spanBound(2 * limit - 1, Math.min(period, lock[0]!))],
    grids: ({ period, lock, forget }) => [period, forget, ...lock],
  }),
  blockable: kindOf({
    algorithm: "lockout",
    options: () => lockoutOptions().map((drawn) => ({ ...drawn, blockable: true as const })),
    rule: lockoutRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, period, lock }) => [spanBound(2 * limit - 1, Math.min(period, lock))],
    grids: ({ period, lock }) => [period, lock],
  }),
  gcra: kindOf({ ...rate, algorithm: "gcra", rule: gcraRule }),
};

/**
 * The subjects that `subjects` can draw: each factory, the token bucket once for each refill, and
 * `all`.
 */
export type SubjectName = KindName | "all";

function atoms(): fc.Arbitrary<Subject> {
  return fc.oneof(...Object.values(kinds).map((kind) => kind.subjects()));
}

/** `all` of one to three algorithms, a few of which are an `all` themselves. */
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
    rule: allRule(...parts.map((part) => part.rule as AlgorithmRule)),
    bounds: parts.flatMap((part) => part.bounds ?? []),
    grids: parts.flatMap(gridsOf),
    label: `all(${parts.map((part) => part.label).join(", ")})`,
  });
}

/**
 * Random algorithms of each factory, with awkward options, the model that says what they should
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
  ...Object.fromEntries(
    Object.entries(kinds).map(([name, kind]) => [name, kind.subjects]),
  ) as Readonly<Record<KindName, () => fc.Arbitrary<Subject>>>,
  all: composites,
};

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
