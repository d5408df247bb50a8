/*
 * Derives the receipts of an algorithm from its arithmetic, and the receipts of `all` from its parts.
 */

import type { Algorithm } from "../algorithm.ts";
import type { Decision } from "../decision.ts";
import { type RememberedReceipts, SETTLED_WIDTH } from "./remembered_receipts.ts";
import { backOf, entriesOf, isNoted, type Noted, noted, plainState } from "./noted.ts";
import { type GiveBackNow, settledAt, withEntries } from "./noted_reducer.ts";
import type { Receipts, Returns } from "./returns.ts";

/** Receipts of an algorithm with one limit. */
export function receiptsOf<State>(
  { size, mark, giveBack: giveBackPlain, lasts }: Returns<State>,
): Receipts<State | Noted<State>> {
  const giveBack: GiveBackNow<State> = (state, now, units, mark, closes) => {
    const [next, returned, back] = giveBackPlain(
      plainState(state),
      now,
      units,
      mark,
      backOf(state),
      closes,
    );
    return returned === 0 ? [state, 0] : [noted(next, back, entriesOf(state)), returned];
  };
  return {
    size,
    mark: (after) => mark(plainState(after), backOf(after)),
    giveBack,
    lasts: (after, now) => lasts(plainState(after), now),
    settled: (state, now) => isNoted(state) ? settledAt(state, now, giveBack) : state,
    entries: entriesOf,
    remember: withEntries,
    keptFor(state, now, resetAfter) {
      if (!isNoted(state)) return resetAfter;
      const { back, entries } = state;
      const marks = back > 0 ? lasts(state.state, now) : 0;
      return Math.max(resetAfter, marks, lastOf(entries, now));
    },
  };
}

/** The state of `all`: the states of its parts, in order. */
type AllState = readonly unknown[];

/**
 * Receipts of `all`: each part gives back the units that count in it. Parts without receipts give
 * nothing back.
 */
export function receiptsOfAll(
  parts: readonly Algorithm[],
  initial: AllState,
): Receipts<AllState | Noted<AllState>> {
  const each = parts.map(({ internals }) => internals?.receipts);
  const starts: number[] = [];
  let size = 0;
  for (const receipts of each) {
    starts.push(size);
    size += receipts?.size ?? 0;
  }

  const giveBack: GiveBackNow<AllState> = (state, now, units, mark, closes) => {
    let most = 0;
    const states = plainState(state).map((own, index) => {
      const receipts = each[index];
      if (receipts === undefined) return own;
      const start = starts[index]!;
      const marks = mark.slice(start, start + receipts.size);
      const [next, returned] = receipts.giveBack(own, now, units, marks, closes);
      if (returned > most) most = returned;
      return next;
    });
    if (most === 0) return [state, 0];
    const isFresh = states.every((own, index) => own === initial[index]);
    return [withEntries(isFresh ? initial : states, entriesOf(state)), most];
  };

  return {
    size,
    mark(after) {
      const states = plainState(after);
      return each.flatMap((receipts, index) => receipts?.mark(states[index]) ?? []);
    },
    giveBack,
    lasts(after, now) {
      const states = plainState(after);
      return Math.max(
        0,
        ...each.map((receipts, index) => receipts?.lasts(states[index], now) ?? 0),
      );
    },
    settled: (state, now) => isNoted(state) ? settledAt(state, now, giveBack) : state,
    entries: entriesOf,
    remember: withEntries,
    keptFor(state, now, resetAfter) {
      const isOwn = isNoted(state);
      const states = isOwn ? state.state : state;
      let longest = isOwn ? Math.max(resetAfter, lastOf(state.entries, now)) : resetAfter;
      for (let index = 0; index < each.length; index++) {
        const own = states[index];
        if (typeof own !== "object") continue;
        longest = Math.max(longest, each[index]?.keptFor(own, now, 0) ?? 0);
      }
      return longest;
    },
  };
}

/** Milliseconds until the last of these receipts has expired. */
function lastOf({ open, settled }: RememberedReceipts, now: number): number {
  const opened = open.length === 0 ? 0 : open[open.length - 1]!.until - now;
  const last = settled.length === 0 ? 0 : settled[settled.length - SETTLED_WIDTH]! - now;
  return Math.max(0, opened, last);
}

/** Milliseconds for which a store must keep the state that a decision left. */
export function keptFor(
  { internals }: Algorithm,
  state: unknown,
  now: number,
  { resetAfter }: Pick<Decision, "resetAfter">,
): number {
  if (typeof state === "number") return resetAfter;
  return internals?.receipts?.keptFor(state, now, resetAfter) ?? resetAfter;
}
