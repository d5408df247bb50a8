/*
 * Finds out whether an algorithm changes the states that it is given. Such a fault makes any law
 * fail, with words that lead astray, so this is asked when a law has failed.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { follow, type Schedule } from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";
import { type Row, table } from "../table.ts";

/** The text of each algorithm's fresh state when it was first seen. */
const freshTexts = new WeakMap<Algorithm, string | undefined>();

/** Remembers what the fresh state of an algorithm is before anything can change it. */
export function rememberFresh(algorithm: Algorithm): void {
  if (freshTexts.has(algorithm)) return;
  freshTexts.set(algorithm, textOf(algorithm, algorithm.initial));
}

/**
 * Plays a schedule again, and compares the text of each state before and after each call.
 *
 * @returns The calls up to the first that changed its state, as a table; `undefined` if none did.
 */
export function changedInPlace(subject: Subject, schedule: Schedule): string | undefined {
  const { algorithm } = subject;
  const { initial, step, charge, capacity } = algorithm;
  const rows: Row[] = [];
  let found = compared({ now: undefined, cost: 0 }, freshTexts.get(algorithm), initial);
  let state = initial;
  try {
    follow(schedule, { capacity, grids: gridsOf(subject) }, (now, cost, charges) => {
      const text = textOf(algorithm, state);
      const [decision, next] = (charges ? charge : step)(state, now, cost);
      found ??= compared({ now, cost, decision }, text, state);
      rows.push({ now, cost, decision });
      const end = Math.min(now + decision.resetAfter, LAST_INSTANT);
      for (const after of [next, step(next, now, 1)[1], step(next, now, capacity)[1]]) {
        found ??= probed(after, [now, end]);
      }
      state = next;
      return decision;
    });
  } catch {
    // The law itself judges what the algorithm throws.
  }
  return found;

  /** Asks of a state what laws ask of it. */
  function probed(given: unknown, instants: readonly number[]): string | undefined {
    const text = textOf(algorithm, given);
    for (const now of instants) {
      for (const cost of [0, 1, capacity, -1]) {
        const [decision] = step(given, now, cost);
        const changed = compared({ now, cost, decision }, text, given);
        if (changed !== undefined) return changed;
      }
    }
    return undefined;
  }

  function compared(row: Row, before: string | undefined, given: unknown): string | undefined {
    const after = textOf(algorithm, given);
    if (before === after) return undefined;
    const expected = `no state changed in place: ${before} became ${after}`;
    return table([...rows, { ...row, expected }]);
  }
}

function textOf({ codec }: Algorithm, state: unknown): string | undefined {
  try {
    return codec.encode(state);
  } catch {
    return undefined;
  }
}
