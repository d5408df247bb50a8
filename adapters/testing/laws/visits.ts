/*
 * The data that an algorithm's laws are checked on: the steps of a reducer over one schedule, and a
 * way to look at the states between them.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import type { Decision } from "../../../core/decision.ts";
import { follow, type Schedule } from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";
import { type Row, table } from "../table.ts";
import { changedInPlace, rememberFresh } from "./changed_in_place.ts";
import { sameDecision } from "./same_decision.ts";

/** One step of a reducer: what went in and what came out. */
export interface Visit {
  readonly before: unknown;
  readonly now: number;
  readonly cost: number;
  /** Whether it charged, and the reducer that it called. */
  readonly charge: boolean;
  readonly reducer: Algorithm["step"];
  readonly decision: Decision;
  readonly after: unknown;
}

/** Ends a law at a visit unless what it expects there holds. */
export type Expect = (holds: boolean, expected: string | (() => string)) => void;

/** Checks the visits of one schedule, one after the other. */
export type VisitCheck = (visit: Visit, expect: Expect) => void;

/** A law of an algorithm; `check` is called once for each schedule. */
export interface VisitLaw {
  readonly name: string;
  /** Whether it holds only if the schedule begins on a fresh key. */
  readonly fromFresh?: boolean;
  check(subject: Subject): VisitCheck;
}

/**
 * Plays a schedule on a fresh key, or on a key with that state, and checks each visit: what fails
 * prints all up to that one. Where the algorithm changes its states in place, this is what it says,
 * because any law may fail then.
 */
export function checkVisits(
  subject: Subject,
  schedule: Schedule,
  check: VisitCheck,
  from: unknown = subject.algorithm.initial,
): void {
  rememberFresh(subject.algorithm);
  try {
    checkEach(subject, schedule, check, from);
  } catch (error) {
    const changed = changedInPlace(subject, schedule);
    if (changed === undefined) throw error;
    throw new Error(`${nameOf(subject)}\n${changed}`, { cause: error });
  }
}

function checkEach(
  subject: Subject,
  schedule: Schedule,
  check: VisitCheck,
  from: unknown,
): void {
  const rows: Row[] = [];
  for (const visit of visitsOf(subject, schedule, from)) {
    const { now, cost, decision } = visit;
    const failure = (expected: string, cause?: unknown) => {
      const calls = table([...rows, { now, cost, decision, expected }]);
      return new Error(`${nameOf(subject)}\n${calls}`, { cause });
    };
    let broken: Error | undefined;
    try {
      check(visit, (holds, expected) => {
        if (holds) return;
        throw broken = failure(typeof expected === "string" ? expected : expected());
      });
    } catch (error) {
      throw error === broken ? error : failure(`an answer, not ${error}`, error);
    }
    rows.push({ now, cost, decision });
  }
}

function nameOf({ label, algorithm }: Subject): string {
  return label ?? algorithm.id;
}

/** The visits of a schedule on a key with that state. */
export function visitsOf(subject: Subject, schedule: Schedule, from: unknown): readonly Visit[] {
  const { step, charge, capacity } = subject.algorithm;
  const visits: Visit[] = [];
  let state = from;
  follow(schedule, { capacity, grids: gridsOf(subject) }, (now, cost, charges) => {
    try {
      const reducer = charges ? charge : step;
      const [decision, after] = reducer(state, now, cost);
      visits.push({ before: state, now, cost, charge: charges, reducer, decision, after });
      state = after;
      return decision;
    } catch (cause) {
      const expected = `an answer, not ${cause}`;
      const calls = table([...visits, { now, cost, expected }]);
      throw new Error(`${nameOf(subject)}\n${calls}`, { cause });
    }
  });
  return visits;
}

/** Instants after a visit at which something may change, and some at which nothing should. */
export function laterInstants(subject: Subject, { now, decision }: Visit): number[] {
  const { retryAfter, nextAfter, resetAfter } = decision;
  const grids = gridsOf(subject).flatMap((
    grid,
  ) => [grid, (Math.floor(now / grid) + 1) * grid - now]);
  return [0, 1, ...grids, retryAfter, nextAfter, Math.floor(resetAfter / 2), resetAfter]
    .flatMap((wait) => [wait - 1, wait, wait + 1])
    .filter((wait) => wait >= 0 && now + wait <= LAST_INSTANT)
    .sort((a, b) => a - b)
    .map((wait) => now + wait);
}

/** The answer to a look. */
export function lookAt(subject: Subject, state: unknown, now: number): Decision {
  return subject.algorithm.step(state, now, 0)[0];
}

/**
 * The first difference that a caller could see between two states at the given instants, in words;
 * `undefined` if a caller sees no difference. States after an admission must be the same; states
 * after a refund may still differ in what both no longer hold.
 */
export function difference(
  subject: Subject,
  a: unknown,
  b: unknown,
  instants: readonly number[],
): string | undefined {
  const { step, capacity } = subject.algorithm;
  for (const now of instants) {
    for (const cost of [0, 1, capacity, capacity + 1, -1]) {
      const [ofA, nextA] = step(a, now, cost);
      const [ofB, nextB] = step(b, now, cost);
      if (!sameDecision(ofA, ofB)) return `the same answer at ${now} to cost ${cost}`;
      if (cost > 0 && ofA.allowed && !sameState(subject, nextA, nextB)) {
        return `the same state at ${now} after cost ${cost}`;
      }
    }
  }
  return undefined;
}

/** Whether two states are kept as the same text. */
export function sameState({ algorithm }: Subject, a: unknown, b: unknown): boolean {
  return a === b || algorithm.codec.encode(a) === algorithm.codec.encode(b);
}
