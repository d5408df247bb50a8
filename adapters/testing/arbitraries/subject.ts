import type { Algorithm } from "../../../core/algorithm.ts";
import type { Bound } from "../bound.ts";
import type { Rule } from "../models/rule.ts";

/**
 * An algorithm put to the laws, with what the laws may know of it beyond its interface. All but
 * the algorithm may be left out; what is left out is not checked.
 *
 * @typeParam State What the algorithm remembers of a key.
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
  /** What it should answer, stated independently. */
  readonly rule?: Rule | undefined;
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
 * const algorithm = gcra({ limit: 4, period: "1s" });
 * assert.deepEqual(gridsOf({ algorithm }), [1_000, 250]);
 * ```
 */
export function gridsOf(subject: Subject): readonly number[] {
  return subject.grids ?? subject.algorithm.policies.flatMap(({ limit, period }) => [
    period,
    Math.max(1, Math.ceil(period / limit)),
  ]);
}
