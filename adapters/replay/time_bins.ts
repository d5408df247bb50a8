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

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Widths in which people count. */
const WIDTHS: readonly number[] = [
  ...[1, 5, 15].map((seconds) => seconds * SECOND),
  ...[1, 5, 15].map((minutes) => minutes * MINUTE),
  ...[1, 6, 24].map((hours) => hours * HOUR),
];

/**
 * Makes empty bins for a span, of the narrowest of the widths in which people count that covers it
 * with at most `most` bins. They begin at full seconds, minutes or hours, UTC.
 */
export function emptyBins(start: number, end: number, most: number): FilledBins {
  const firstOf = (width: number) => Math.floor(start / width) * width;
  const countOf = (width: number) => Math.floor((end - firstOf(width)) / width) + 1;
  let width = WIDTHS.find((width) => countOf(width) <= most) ?? WIDTHS.at(-1)!;
  while (countOf(width) > most) width *= 2;
  const count = countOf(width);
  return {
    ...{ start: firstOf(width), width },
    ...{ allowed: Array(count).fill(0), denied: Array(count).fill(0) },
  };
}
