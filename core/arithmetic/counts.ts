/** Whether a value is a count: a whole number of at least 0 that floats hold exactly. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** A count as canonical text has it; `NaN` if it is none. */
export function countOf(text: string | undefined): number {
  return text !== undefined && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : NaN;
}
