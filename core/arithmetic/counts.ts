/** Whether a value is a count: a whole number of at least 0 that floats hold exactly. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** The most units that a key may have in use, unless its capacity is more. */
const MAX_USE = 1_000_000_000;

/**
 * The most units that charges may bring a key to: a billion, or as many as are exact, but never
 * fewer than its capacity.
 */
export function mostUnits(capacity: number, exact: number): number {
  return Math.max(capacity, Math.min(MAX_USE, Math.floor(exact)));
}

/** The counts after the first word of a text; `undefined` if that is not `head`, or one is no count. */
export function countsAfter(head: string, text: string): readonly number[] | undefined {
  const words = text.split(" ");
  if (words[0] !== head) return undefined;
  const counts: number[] = [];
  for (let index = 1; index < words.length; index++) {
    const count = countOf(words[index]);
    if (!isCount(count)) return undefined;
    counts.push(count);
  }
  return counts;
}

/** Reads a count in its canonical form; `NaN` for any other text. */
export function countOf(text: string | undefined): number {
  return text !== undefined && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : NaN;
}
