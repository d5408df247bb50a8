import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { follow, type Schedule } from "../arbitraries/schedule.ts";
import { gridsOf, type Subject } from "../arbitraries/subject.ts";
import { type Row, table } from "../table.ts";

/** The last instant that a reducer takes. */
export const LAST_INSTANT: number = 2 ** 42;

/** One step of a reducer: what went in and what came out. */
export interface Visit {
  readonly before: unknown;
  readonly now: number;
  readonly cost: number;
  /** Whether it charged. */
  readonly charge: boolean;
  readonly decision: Decision;
  readonly after: unknown;
}

/** Plays a schedule on a fresh key. */
export function visitsOf(subject: Subject, schedule: Schedule): Visit[] {
  const { algorithm } = subject;
  const { initial, capacity } = algorithm;
  const visits: Visit[] = [];
  let state = initial;
  follow(schedule, { capacity, grids: gridsOf(subject) }, (now, cost, charge) => {
    try {
      const [decision, after] = reducerOf(algorithm, charge)(state, now, cost);
      visits.push({ before: state, now, cost, charge, decision, after });
      state = after;
      return decision;
    } catch (error) {
      throw new Error(`${table([...visits, { now, cost, expected: "an answer" }])}`, {
        cause: error,
      });
    }
  });
  return visits;
}

/** The reducer of a visit. */
export function reducerOf({ step, charge }: Algorithm, charges: boolean): Algorithm["step"] {
  return charges ? charge : step;
}

/** Ends a law at one of its visits unless what it expects holds. */
export type Expect = (visit: Visit, holds: boolean, expected: string | (() => string)) => void;

/** The `Expect` that prints a table of all visits up to the one at fault. */
export function expectOver(subject: Subject, visits: readonly Visit[]): Expect {
  return (visit, holds, expected) => {
    if (holds) return;
    const rows: Row[] = visits.slice(0, visits.indexOf(visit)).map(rowOf);
    rows.push({ ...rowOf(visit), expected: typeof expected === "string" ? expected : expected() });
    throw new Error(`${subject.label ?? subject.algorithm.id}\n${table(rows)}`);
  };
}

function rowOf({ now, cost, decision }: Visit): Row {
  return { now, cost, decision };
}
