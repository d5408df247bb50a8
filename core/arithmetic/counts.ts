/** Whether a value is a count: a whole number of at least 0 that floats hold exactly. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** The counts after the first word of a text; `undefined` if that is not `head`, or one is no count. */
export function countsAfter(head: string, text: string): readonly number[] | undefined {
  const words = text.split(" ");
  if (words[0] !== head) return undefined;
  const counts: number[] = [];
  for (let place = 1; place < words.length; place++) {
    const count = countOf(words[place]);
    if (!isCount(count)) return undefined;
    counts.push(count);
  }
  return counts;
}

/** A count as canonical text has it; `NaN` if it is none. */
export function countOf(text: string | undefined): number {
  return text !== undefined && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : NaN;
}
