/** A client's longest lock-out so far, and the one that goes on. */
export interface LockOut {
  /** Since when it cannot get in; -1 if its last request was admitted. */
  since: number;
  /** Until when, as the last refusal said. */
  until: number;
  /** The longest one: milliseconds. */
  longest: number;
}

/** Makes the record of a client that was never refused. */
export function noLockOut(): LockOut {
  return { since: -1, until: 0, longest: 0 };
}

/** Takes note of a refusal. */
export function addRefusal(lockOut: LockOut, now: number, retryAfter: number): void {
  if (now >= lockOut.until) endLockOut(lockOut, now);
  if (lockOut.since < 0) lockOut.since = now;
  lockOut.until = now + retryAfter;
}

/** Ends a lock-out: a client that stays away longer than it must is not locked out for all that time. */
export function endLockOut(lockOut: LockOut, now: number): void {
  if (lockOut.since < 0) return;
  lockOut.longest = Math.max(lockOut.longest, Math.min(now, lockOut.until) - lockOut.since);
  lockOut.since = -1;
}
