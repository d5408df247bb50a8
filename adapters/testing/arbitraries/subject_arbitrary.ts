import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { errorMessage } from "../../../core/options/checks.ts";
import type { Subject } from "./subject.ts";

/** An algorithm, a subject (an algorithm with its model and bounds), or random ones of either. */
export type Subjects<State = unknown> =
  | Algorithm<State>
  | Subject<State>
  | fc.Arbitrary<Algorithm<State> | Subject<State>>;

/**
 * Random subjects, of whatever was given.
 *
 * @throws {TypeError} If it is no algorithm, no subject and no arbitrary.
 */
export function subjectArbitrary<State>(subjects: Subjects<State>): fc.Arbitrary<Subject> {
  const known = ["generate", "step", "algorithm"];
  if (typeof subjects !== "object" || !known.some((name) => name in (subjects ?? {}))) {
    const rule = "it needs an algorithm, a subject, or an arbitrary of either";
    throw new TypeError(errorMessage("put laws to the proof", rule, subjects));
  }
  const arbitrary = "generate" in subjects ? subjects : fc.constant(subjects);
  return arbitrary.map((drawn) => {
    return printable(("step" in drawn ? { algorithm: drawn } : drawn) as Subject);
  });
}

/** A subject that fast-check prints by its label, not by its functions. */
export function printable(subject: Subject): Subject {
  const toString = () => subject.label ?? subject.algorithm.id;
  return { ...subject, [fc.toStringMethod]: toString } as Subject;
}
