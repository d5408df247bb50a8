/*
 * How the units of one call go back. Giving back leaves the state of a replay in which that call had
 * cost so much less. Windows, logs, counters and lockouts find the units by their place. A rate has
 * no places: it is the fold T <- max(T, t) + c, so a call that had cost d less leaves T - d, but never
 * less than later calls lead to by themselves. The distance between T and the latter is the call's
 * lag: the least use, in ticks, that any later call found.
 */

/** The lag of a call that no later call has followed. */
export const NO_CALL_SINCE: number = Number.MAX_SAFE_INTEGER;

/** The result of giving units back. */
export interface Returned<State> {
  /** The state afterwards. */
  readonly next: State;
  /** Units that were given back; with a fraction if a unit had drained in part. */
  readonly returned: number;
  /** For each lag: the ticks that the call cost less. */
  readonly wanted: readonly number[];
  /** For each lag: the ticks by which the arrival time was moved. */
  readonly moved: readonly number[];
}

/** How an algorithm gives back the units of one call. All of it is pure. */
export interface Returns<State = unknown> {
  /** How many numbers a mark has. */
  readonly marks: number;
  /** The ticks of a unit, for each lag that a call has: one for a rate, none for a window. */
  readonly ticks: readonly number[];
  /** The numbers that find the units of the call that left a state. */
  mark(after: State): readonly number[];
  /** The use that a call at `now` finds, in ticks, for one of the lags. */
  use(state: State, now: number, lag: number): number;
  /**
   * Gives back units of a call, each unit once.
   *
   * @param units Units that the call cost less, 1 or more.
   * @param since Units that were given back since the call, by whomever; used only without lags.
   * @param lags A list with the call's lags; `undefined` if nobody has kept them. A rate then gives
   * back what is known to be right: the units of the newest call, or of another call what has not
   * drained, less what was given back since.
   * @param at Where the call's lags begin in the list; default 0.
   */
  giveBack(
    state: State,
    now: number,
    units: number,
    mark: readonly number[],
    since: number,
    lags?: readonly number[],
    at?: number,
  ): Returned<State>;
}

/** Where the units of calls lie in a window, a log, a counter or a lockout. */
export interface Places<State> {
  /** The place of the newest units. */
  newest(after: State): number;
  /** The units at a place that count at `now`. */
  held(state: State, now: number, place: number): number;
  /** The state with fewer units at a place: 1 or more, and no more than it holds. */
  without(state: State, now: number, units: number, place: number): State;
}

const NONE: readonly number[] = Object.freeze([]);

/** Gives back units by their place alone. */
export function byPlace<State>({ newest, held, without }: Places<State>): Returns<State> {
  return {
    marks: 1,
    ticks: NONE,
    // A call that took nothing may leave a key without a place.
    mark: (after) => [Math.max(0, newest(after))],
    use: () => 0,
    giveBack(state, now, units, [place = -1]) {
      const returned = Math.min(units, held(state, now, place));
      const next = returned > 0 ? without(state, now, returned, place) : state;
      return { next, returned, wanted: NONE, moved: NONE };
    },
  };
}

/**
 * Gives back the units of a call in each part of `all`. Parts that cannot give units back keep them.
 *
 * @param initial The fresh states of the parts.
 */
export function inEachPart(
  parts: readonly (Returns | undefined)[],
  initial: readonly unknown[],
): Returns<readonly unknown[]> {
  const markStarts = starts(parts.map((part) => part?.marks ?? 0));
  const lagStarts = starts(parts.map((part) => part?.ticks.length ?? 0));
  return {
    marks: markStarts.at(-1)!,
    ticks: parts.flatMap((part) => part?.ticks ?? NONE),
    mark: (after) => parts.flatMap((part, index) => part?.mark(after[index]) ?? NONE),
    use(states, now, lag) {
      // The last part that begins at this lag or before it: a part without lags begins where the next does.
      let index = parts.length - 1;
      while (lagStarts[index]! > lag) index--;
      return parts[index]!.use(states[index], now, lag - lagStarts[index]!);
    },
    giveBack(states, now, units, mark, since, lags, at = 0) {
      let returned = 0;
      const wanted: number[] = [];
      const moved: number[] = [];
      const next = parts.map((part, index) => {
        if (part === undefined) return states[index];
        const own = part.giveBack(
          states[index],
          now,
          units,
          mark.slice(markStarts[index], markStarts[index + 1]),
          since,
          lags,
          at + lagStarts[index]!,
        );
        returned = Math.max(returned, own.returned);
        wanted.push(...own.wanted);
        moved.push(...own.moved);
        return own.next;
      });
      const isFresh = next.every((state, index) => state === initial[index]);
      return { next: isFresh ? initial : next, returned, wanted, moved };
    },
  };
}

/** Where each part's numbers begin, and where the last one's end. */
function starts(sizes: readonly number[]): readonly number[] {
  const sums = [0];
  for (const size of sizes) sums.push(sums.at(-1)! + size);
  return sums;
}
