/*
 * One abort listener for all who wait with one signal: thousands of listeners on it cost more than
 * thousands of callers. When the signal is aborted, they leave in slices, each in a turn of its own, so
 * that the event loop goes on meanwhile. So do callers with thousands of signals that are aborted in
 * one turn, as those of `AbortSignal.timeout` are: the engine's own work for them is long enough.
 */

/** The most callers that leave, or are admitted, in one turn of the event loop. */
export const MAX_PER_TURN = 250;
/** How many callers may leave before the next check whether the turn is still the same. */
const FREE_LEAVES = 32;

/** How callers leave, and how to continue in a later turn. */
export interface AbortHandling<Caller> {
  leave(callers: readonly Caller[], reason: unknown): void;
  later(wake: () => void): void;
}

/** The callers that wait with a signal, grouped by signal. */
export interface AbortGroups<Caller> {
  /** Adds a caller; the signal must not be aborted yet. */
  add(signal: AbortSignal, caller: Caller): void;
  /** Takes a caller out again, if it is still there. */
  remove(signal: AbortSignal, caller: Caller): void;
}

interface Group<Caller> {
  readonly signal: AbortSignal;
  readonly callers: Set<Caller>;
  abort(): void;
}

/** Makes groups without callers. */
export function abortGroups<Caller>({ leave, later }: AbortHandling<Caller>): AbortGroups<Caller> {
  const groups = new WeakMap<AbortSignal, Group<Caller>>();
  /** The groups whose signals were aborted and whose callers are yet to leave. */
  const aborted = new Set<Group<Caller>>();
  /** How many callers have left in this turn, as far as is known. */
  let left = 0;
  let isWaiting = false;

  /** Lets as many callers of a group leave as this turn allows. */
  function leaveFrom(group: Group<Caller>): void {
    const slice: Caller[] = [];
    for (const caller of group.callers) {
      if (left === MAX_PER_TURN) break;
      slice.push(caller);
      left++;
    }
    for (const caller of slice) group.callers.delete(caller);
    if (group.callers.size === 0) aborted.delete(group);
    leave(slice, group.signal.reason);
  }

  function nextTurn(): void {
    if (isWaiting || left < FREE_LEAVES) return;
    isWaiting = true;
    later(() => {
      isWaiting = false;
      left = 0;
      for (const group of aborted) {
        if (left === MAX_PER_TURN) break;
        leaveFrom(group);
      }
      nextTurn();
    });
  }

  function open(signal: AbortSignal): Group<Caller> {
    const group: Group<Caller> = {
      signal,
      callers: new Set(),
      abort() {
        aborted.add(group);
        if (left < MAX_PER_TURN) leaveFrom(group);
        nextTurn();
      },
    };
    groups.set(signal, group);
    signal.addEventListener("abort", group.abort);
    return group;
  }

  return {
    add: (signal, caller) => void (groups.get(signal) ?? open(signal)).callers.add(caller),
    remove(signal, caller) {
      const group = groups.get(signal);
      if (group === undefined) return;
      group.callers.delete(caller);
      if (group.callers.size > 0) return;
      signal.removeEventListener("abort", group.abort);
      groups.delete(signal);
      aborted.delete(group);
    },
  };
}
