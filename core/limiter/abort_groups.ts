/*
 * One abort listener for all who wait with one signal: thousands of listeners on it cost more than
 * thousands of callers. When the signal is aborted, they leave in slices, each in a turn of its own, so
 * that the event loop goes on meanwhile.
 */

/** The most callers that leave, or are admitted, in one turn of the event loop. */
export const MAX_PER_TURN = 250;

/** How callers leave, and what calls back in a later turn. */
export interface AbortHandling<Caller> {
  leave(callers: readonly Caller[], reason: unknown): void;
  later(caller: Caller, wake: () => void): void;
}

/** The callers that wait with a signal, by that signal. */
export interface AbortGroups<Caller> {
  /** Adds a caller; the signal must not be aborted yet. */
  add(signal: AbortSignal, caller: Caller): void;
  /** Takes a caller out again, if it is still there. */
  remove(signal: AbortSignal, caller: Caller): void;
}

interface Group<Caller> {
  readonly callers: Set<Caller>;
  abort(): void;
}

/** Makes groups without callers. */
export function abortGroups<Caller>({ leave, later }: AbortHandling<Caller>): AbortGroups<Caller> {
  const groups = new WeakMap<AbortSignal, Group<Caller>>();

  function open(signal: AbortSignal): Group<Caller> {
    const callers = new Set<Caller>();
    function abort(): void {
      const slice: Caller[] = [];
      for (const caller of callers) {
        if (slice.push(caller) === MAX_PER_TURN) break;
      }
      for (const caller of slice) callers.delete(caller);
      const more = slice.length === MAX_PER_TURN && callers.size > 0;
      if (more) later(slice[0]!, abort);
      leave(slice, signal.reason);
    }
    const group = { callers, abort };
    groups.set(signal, group);
    signal.addEventListener("abort", abort);
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
    },
  };
}
