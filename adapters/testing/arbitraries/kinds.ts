import fc from "fast-check";
import {
  type AlgorithmName,
  algorithmOf,
  type LimitOptions,
} from "../../../core/rules/limit_options.ts";
import { type Bound, rateBound, refillBound, spanBound } from "../bound.ts";
import { fixedWindowRule } from "../models/fixed_window_rule.ts";
import { gcraRule } from "../models/gcra_rule.ts";
import { leakyBucketRule } from "../models/leaky_bucket_rule.ts";
import { leakyQueueRule } from "../models/leaky_queue_rule.ts";
import { lockoutRule } from "../models/lockout_rule.ts";
import { EXACT, maxDebt, rateDebt, refillDebt, windowDebt } from "./max_debt.ts";
import type { RateRuleOptions } from "../models/rate.ts";
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
import type { Subject } from "./subject.ts";
import { printable } from "./subject_arbitrary.ts";

/** The factories, and the token bucket once for each way to refill it. */
export type KindName = AlgorithmName | "tokenBucketByInterval";

/** What is drawn of a factory. */
export interface DrawnKind {
  /** Its options as a rule writes them. */
  limits(): fc.Arbitrary<LimitOptions>;
  subjects(): fc.Arbitrary<Subject>;
}

/** Everything that the options of one factory say of its algorithm. */
interface Kind<Options> {
  readonly algorithm: AlgorithmName;
  readonly options: () => fc.Arbitrary<Options>;
  readonly rule: (options: Options & { readonly maxDebt: number }) => Rule;
  /** The most that a key may owe, as the documentation states it. */
  readonly maxDebt: (options: Options) => number;
  readonly bounds: (options: Options) => readonly Bound[];
  readonly grids?: (options: Options) => readonly number[];
}

function kindOf<Options extends Omit<LimitOptions, "algorithm">>(kind: Kind<Options>): DrawnKind {
  const { algorithm } = kind;
  return {
    limits: () => kind.options().map((options) => ({ algorithm, ...options })),
    subjects: () =>
      kind.options().map((options) =>
        printable({
          algorithm: algorithmOf({ algorithm, ...options }),
          rule: ruleOf(kind, options),
          bounds: kind.bounds(options),
          grids: kind.grids?.(options),
          label: `${algorithm}(${fc.stringify(options)})`,
        })
      ),
  };
}

function ruleOf<Options>({ rule, maxDebt }: Kind<Options>, options: Options): Rule {
  const most = maxDebt(options);
  return { ...rule({ ...options, maxDebt: most }), maxDebt: BigInt(most) };
}

const rate = {
  options: rateOptions,
  maxDebt: rateDebt,
  bounds: (options: RateRuleOptions) => [rateBound(options)],
};

/** How each is drawn. */
export const kinds: Readonly<Record<KindName, DrawnKind>> = {
  fixedWindow: kindOf({
    algorithm: "fixedWindow",
    options: windowOptions,
    rule: fixedWindowRule,
    maxDebt: windowDebt,
    bounds: ({ limit, period }) => [spanBound(2 * limit, period)],
    grids: ({ period }) => [period],
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
    maxDebt: ({ limit, period, queue }) => rateDebt({ limit, period, burst: queue + 1 }),
    bounds: ({ limit, period, queue }) => [rateBound({ limit, period, burst: queue + 1 })],
  }),
  lockout: kindOf({
    algorithm: "lockout",
    options: lockoutOptions,
    rule: lockoutRule,
    maxDebt: ({ limit }) => maxDebt(limit),
    bounds: ({ limit, period, lock }) => [spanBound(2 * limit - 1, Math.min(period, lock))],
    grids: ({ period, lock }) => [period, lock],
  }),
  gcra: kindOf({ ...rate, algorithm: "gcra", rule: gcraRule }),
};
