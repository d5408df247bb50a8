import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { all } from "../../../core/algorithms/all.ts";
import { allRule } from "../models/all_rule.ts";
import type { Rule } from "../models/rule.ts";
import type { AlgorithmName } from "../../../core/rules/limit_options.ts";
import { type KindName, kinds } from "./kinds.ts";
import { gridsOf, type Subject } from "./subject.ts";
import { printable } from "./subject_arbitrary.ts";

/** The factories of `tidegate`, and the token bucket once for each way to refill it. */
export type SubjectName = AlgorithmName | "tokenBucketByInterval" | "all";

function atoms(): fc.Arbitrary<Subject> {
  return fc.oneof(...Object.values(kinds).map((kind) => kind.subjects()));
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
