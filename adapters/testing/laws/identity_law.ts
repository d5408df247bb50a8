/*
 * The law of `id`, which is part of every stored key. Algorithms that share one share keys: in a
 * rolling deploy that changes a limit, or where plans have different limits. So each must go on with
 * the states of the other, as if it had made them.
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
import { type Row, table } from "../table.ts";
import { codecLaws } from "./codec_laws.ts";
import { stepLaws } from "./step_laws.ts";
import { unitLaws } from "./unit_laws.ts";
import { checkVisits, visitsOf } from "./visits.ts";

/** Laws that hold for any state that an algorithm can read. */
const LAWS = [...stepLaws, ...unitLaws, ...codecLaws].filter(({ fromFresh }) => !fromFresh);

/**
 * The law that algorithms of one id go on with each other's states: as long as both admit the same
 * calls, both make the same states, and the laws of steps, units and codecs hold for the states of
 * the other.
 *
 * @param groups Algorithms to compare with each other: all that a user listed, or some at random.
 */
export function identityLaw(
  groups: fc.Arbitrary<readonly Subject[]>,
  options: SchedulesOptions,
): Law {
  return law(
    "algorithms of one id go on with each other's states",
    fc.property(groups, schedules(options), (group, schedule) => {
      for (const one of group) {
        const namesakes = group.filter(({ algorithm }) =>
          algorithm !== one.algorithm && algorithm.id === one.algorithm.id
        );
        for (const other of namesakes) {
          expectSameStates(one, other, schedule);
          expectContinued(one, other, schedule);
        }
      }
    }),
  );
}

/** Compares the states of both, until one of them refuses a call or has nothing left. */
function expectSameStates(one: Subject, other: Subject, schedule: Schedule): void {
  const { initial, capacity, id, step, codec } = one.algorithm;
  const rows: Row[] = [];
  let states = [initial, other.algorithm.initial] as const;
  let isAlike = true;
  const grids = [one, other].flatMap(gridsOf);
  follow(schedule, { capacity, grids }, (now, cost) => {
    const [decision, next] = step(states[0], now, cost);
    const [otherDecision, otherNext] = other.algorithm.step(states[1], now, cost);
    rows.push({ now, cost, decision });
    isAlike &&= decision.remaining > 0 && otherDecision.remaining > 0 &&
      decision.allowed && otherDecision.allowed;
    if (isAlike && codec.encode(next) !== other.algorithm.codec.encode(otherNext)) {
      const expected = `the state ${other.algorithm.codec.encode(otherNext)}, or another id, ` +
        `not ${codec.encode(next)}`;
      throw new Error(`${id}\n${table([...rows.slice(0, -1), { now, cost, decision, expected }])}`);
    }
    states = [next, otherNext];
    return decision;
  });
}

/** Plays half of a schedule on one, and checks the laws of the other on what follows. */
function expectContinued(one: Subject, other: Subject, schedule: Schedule): void {
  const { initial } = one.algorithm;
  const half = schedule.moves.length >> 1;
  const visits = visitsOf(one, { ...schedule, moves: schedule.moves.slice(0, half) }, initial);
  const { after = initial, now: origin = schedule.origin } = visits.at(-1) ?? {};
  const text = one.algorithm.codec.encode(after);
  const state = other.algorithm.codec.decode(text);
  if (state === undefined) {
    throw new Error(`${other.label ?? other.algorithm.id} does not read ${text} of ${one.label}`);
  }
  const rest = { ...schedule, origin, moves: schedule.moves.slice(half) };
  const from = after === initial ? other.algorithm.initial : after;
  for (const { check } of LAWS) checkVisits(other, rest, check(other), from);
}
