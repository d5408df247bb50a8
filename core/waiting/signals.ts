/*
 * One abort listener for all who wait with one signal: thousands of listeners on it cost more than
 * thousands of callers.
 */

/** The callers that wait with a signal. */
interface Group<Caller> {
  readonly callers: Set<Caller>;
  readonly abort: () => void;
}

/** The callers that wait with a signal, by signal. */
export interface Signals<Caller> {
  /** Adds a caller; the signal must not be aborted yet. */
  add(signal: AbortSignal, caller: Caller): void;
  /** Takes a caller out again, if it is still there. */
  remove(signal: AbortSignal, caller: Caller): void;
}

/**
 * Makes groups without callers.
 *
 * @param leave Called with all callers of a signal that is aborted.
 */
export function signalGroups<Caller>(
  leave: (callers: Iterable<Caller>, reason: unknown) => void,
): Signals<Caller> {
  const groups = new WeakMap<AbortSignal, Group<Caller>>();

  function open(signal: AbortSignal): Group<Caller> {
    const callers = new Set<Caller>();
    const group = { callers, abort: () => leave([...callers], signal.reason) };
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
    },
  };
}
