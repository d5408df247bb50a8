import type { Subject } from "../arbitraries/subject.ts";
import type { Expect, Visit } from "./visits.ts";

/** A law of an algorithm, checked on the visits of one schedule. */
export interface VisitLaw {
  readonly name: string;
  check(subject: Subject, visits: readonly Visit[], expect: Expect): void;
}
