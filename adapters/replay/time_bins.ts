/** Sums over time, in bins of one width. */
export interface TimeBins {
  /** When the first bin begins: milliseconds since the Unix epoch. */
  readonly start: number;
  /** How long a bin is: milliseconds. */
  readonly width: number;
  /** Units admitted, bin by bin. */
  readonly allowed: readonly number[];
  /** Units refused, bin by bin. */
  readonly denied: readonly number[];
}

/** Gathers bins. */
export interface BinGatherer {
  /** Adds units at an instant, which must not be before the first one. */
  add(at: number, units: number, isAllowed: boolean): void;
  /** The bins so far. */
  bins(): TimeBins;
}

/**
 * Gathers sums over time without knowing how long it will be: when there are too many bins, two
 * become one, and the width doubles. Constant memory; constant time for an addition, amortised.
 *
 * @param most The most bins; an even number.
 */
export function gatherBins(most: number): BinGatherer {
  let start = 0;
  let width = 1_000;
  let allowed: number[] = [];
  let denied: number[] = [];

  return {
    add(at, units, isAllowed) {
      if (allowed.length === 0) start = at;
      let place = Math.floor((at - start) / width);
      while (place >= most) {
        allowed = halved(allowed);
        denied = halved(denied);
        width *= 2;
        place = Math.floor((at - start) / width);
      }
      while (allowed.length <= place) {
        allowed.push(0);
        denied.push(0);
      }
      const bins = isAllowed ? allowed : denied;
      bins[place] = bins[place]! + units;
    },
    bins: () => ({ start, width, allowed, denied }),
  };
}

function halved(sums: readonly number[]): number[] {
  return sums.flatMap((sum, place) => place % 2 === 0 ? [sum + (sums[place + 1] ?? 0)] : []);
}
