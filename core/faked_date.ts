const { now: ownDateNow } = Date;

/** Whether a test has replaced `Date`. */
export function isDateFaked(): boolean {
  return Date.now !== ownDateNow;
}
