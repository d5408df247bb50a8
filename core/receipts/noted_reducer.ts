/*
 * The reducer of states with notes, made from the algorithm's own reducer. Before anything else, it
 * gives back units whose time to live is over, each at its own instant, as a timer would have done.
 * Waits take into account units that are yet to be given back.
 */

import type { SplitReducer } from "../algorithm.ts";
import type { Decision } from "../decision.ts";
import { type OpenReceipt, type RememberedReceipts, SETTLED_WIDTH } from "./remembered_receipts.ts";
import { entriesOfBoth, isNoted, NO_ENTRIES, type Noted, noted } from "./noted.ts";
import type { Receipts } from "./returns.ts";

/** Gives units back to a state without entries, and notes them in it. */
export type GiveBackNow<State> = Receipts<State | Noted<State>>["giveBack"];

/** The state and the notes that are left when all receipts up to `now` are over. */
export function settledAt<State>(
  held: Noted<State>,
  now: number,
  giveBack: GiveBackNow<State>,
): State | Noted<State> {
  const { open, settled } = held.entries;
  let over = 0;
  while (over < open.length && open[over]!.until <= now) over++;
  let forgotten = 0;
  while (forgotten < settled.length && settled[forgotten]! <= now) forgotten += SETTLED_WIDTH;
  if (over === 0 && forgotten === 0) return held;
  let core = noted(held.state, held.back, NO_ENTRIES);
  for (let index = 0; index < over; index++) core = withoutUnits(core, open[index]!, giveBack);
  return withEntries(core, entriesOfBoth(open.slice(over), settled.slice(forgotten)));
}

/** The state after an entry's time to live. */
function withoutUnits<State>(
  core: State | Noted<State>,
  { until, units, marks }: OpenReceipt,
  giveBack: GiveBackNow<State>,
): State | Noted<State> {
  return units === 0 ? core : giveBack(core, until, units, marks, true)[0];
}

/** A state with other entries. */
export function withEntries<State>(
  state: State | Noted<State>,
  entries: RememberedReceipts,
): State | Noted<State> {
  return isNoted(state) ? noted(state.state, state.back, entries) : noted(state, 0, entries);
}

/** The split reducer of states with notes and without. */
export function reduceNoted<State>(
  plain: SplitReducer<State>,
  giveBack: GiveBackNow<State>,
): SplitReducer<State | Noted<State>> {
  const { take, decide, charge } = plain;

  /** The algorithm's own state at `now`. */
  function stateAt(state: State | Noted<State>, now: number): State {
    if (!isNoted(state)) return state;
    const settled = settledAt(state, now, giveBack);
    return isNoted(settled) ? settled.state : settled;
  }

  function change(
    reduce: SplitReducer<State>["take"],
    held: Noted<State>,
    now: number,
    cost: number,
  ): State | Noted<State> {
    const settled = settledAt(held, now, giveBack);
    if (!isNoted(settled)) {
      const next = reduce(settled, now, cost);
      return next === settled ? held : next;
    }
    const next = reduce(settled.state, now, cost);
    return next === settled.state ? held : noted(next, settled.back, settled.entries);
  }

  /** A look at a state, with the wait of a cost. */
  function lookAt(state: State, now: number, cost: number): Decision {
    const look = decide(state, state, now, 0);
    if (cost === 0) return look;
    return withRetryAfter(look, decide(state, take(state, now, cost), now, cost));
  }

  /** A decision whose waits take into account the units that are given back by then. */
  function lookAhead(
    decision: Decision,
    core: State | Noted<State>,
    open: readonly OpenReceipt[],
    from: number,
    now: number,
    cost: number,
  ): Decision {
    const entry = open[from];
    if (entry === undefined || isOverBy(decision, entry.until - now)) return decision;
    const next = withoutUnits(core, entry, giveBack);
    const state = isNoted(next) ? next.state : next;
    const later = lookAt(state, entry.until, cost);
    const then = lookAhead(later, next, open, from + 1, entry.until, cost);
    return sooner(decision, then, entry.until - now);
  }

  return {
    take: (state, now, cost) => {
      if (!isNoted(state)) return take(state, now, cost);
      return cost === 0 ? state : change(take, state, now, cost);
    },
    charge: (state, now, cost) =>
      isNoted(state) ? change(charge, state, now, cost) : charge(state, now, cost),
    decide(state, next, now, cost) {
      if (!isNoted(state) && !isNoted(next)) {
        return decide(state, next, now, cost);
      }
      const settled = isNoted(next) ? settledAt(next, now, giveBack) : next;
      const after = isNoted(settled) ? settled.state : settled;
      const before = next === state ? after : stateAt(state, now);
      const decision = decide(before, after, now, cost);
      if (!isNoted(settled) || settled.entries.open.length === 0) return decision;
      const core = noted(after, settled.back, NO_ENTRIES);
      return lookAhead(decision, core, settled.entries.open, 0, now, decision.allowed ? 0 : cost);
    },
  };
}

/** Whether no wait in a decision is longer. */
function isOverBy({ retryAfter, nextAfter, resetAfter }: Decision, wait: number): boolean {
  return retryAfter <= wait && nextAfter <= wait && resetAfter <= wait;
}

/** A look with the wait of another decision at the same instant. */
function withRetryAfter(look: Decision, { retryAfter, parts }: Decision): Decision {
  return {
    ...look,
    retryAfter,
    parts: look.parts?.map((part, index) => withRetryAfter(part, parts![index]!)),
  };
}

/**
 * A decision whose waits end when another decision, `wait` milliseconds later, says that they end.
 */
function sooner(decision: Decision, later: Decision, wait: number): Decision {
  const { retryAfter, nextAfter, resetAfter, remaining, parts } = decision;
  return {
    ...decision,
    retryAfter: retryAfter <= wait ? retryAfter : wait + later.retryAfter,
    nextAfter: nextAfter <= wait
      ? nextAfter
      : later.remaining > remaining
      ? wait
      : wait + later.nextAfter,
    resetAfter: resetAfter <= wait ? resetAfter : wait + later.resetAfter,
    parts: parts?.map((part, index) => sooner(part, later.parts![index]!, wait)),
  };
}
