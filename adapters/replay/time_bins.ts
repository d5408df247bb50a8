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

/** Bins that are filled. */
export interface FilledBins extends TimeBins {
  readonly allowed: number[];
  readonly denied: number[];
}

/** Adds units to the bin of an instant. */
export function addTo(bins: FilledBins, at: number, units: number, isDenied: boolean): void {
  (isDenied ? bins.denied : bins.allowed)[Math.floor((at - bins.start) / bins.width)]! += units;
}

/**
 * Makes empty bins for a span: of one second, or twice that, and so on, so that there are not more
 * than `most` of them.
 */
export function emptyBins(start: number, end: number, most: number): FilledBins {
  let width = 1_000;
  while (Math.floor((end - start) / width) >= most) width *= 2;
  const count = Math.floor((end - start) / width) + 1;
  return { start, width, allowed: Array(count).fill(0), denied: Array(count).fill(0) };
}
