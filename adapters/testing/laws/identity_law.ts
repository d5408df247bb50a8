/*
 * The law of `id`, which is part of every stored key: where two algorithms share one, each continues
 * the states of the other.
 */

import fc from "fast-check";
import {
  follow,
  type Schedule,
  schedules,
  type SchedulesOptions,
} from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";
import { type Law, law } from "../law.ts";
import { inWords, type Row, table } from "../table.ts";
import { sameDecision } from "./same_decision.ts";

/**
 * The law that algorithms of one id answer alike.
 *
 * @param groups Algorithms to compare with each other: all that a user listed, or some at random.
 */
export function identityLaw(
  groups: fc.Arbitrary<readonly Subject[]>,
  options: SchedulesOptions,
): Law {
  return law(
    "algorithms of one id answer alike",
    fc.property(groups, schedules(options), (group, schedule) => {
      for (const [index, one] of group.entries()) {
        const namesakes = group.slice(index + 1)
          .filter(({ algorithm }) => algorithm.id === one.algorithm.id);
        for (const other of namesakes) expectAlike(one, other, schedule);
      }
    }),
  );
}

function expectAlike(one: Subject, other: Subject, schedule: Schedule): void {
  const { initial, capacity, id } = one.algorithm;
  const rows: Row[] = [];
  let state = initial;
  let otherState = other.algorithm.initial;
  const grids = [one, other].flatMap(gridsOf);
  follow(schedule, { capacity, grids }, (now, cost, charges) => {
    const method = charges ? "charge" : "step";
    const [decision, next] = one.algorithm[method](state, now, cost);
    const [otherDecision, otherNext] = other.algorithm[method](otherState, now, cost);
    rows.push({ now, cost, decision });
    if (!sameDecision(decision, otherDecision)) {
      const expected = `an id of its own for the algorithm that answers ${inWords(otherDecision)}`;
      throw new Error(`${id}\n${table([...rows.slice(0, -1), { now, cost, decision, expected }])}`);
    }
    state = next;
    otherState = otherNext;
    return decision;
  });
}
