/** The servers that have asked for a pause. */
export interface Pauses {
  /** Asks for a pause of a key until an instant; a longer one that is under way stays. */
  pause(key: string, until: number): void;
  /** Milliseconds that are left of the key's pause; 0 if there is none. */
  left(key: string, now: number): number;
}

/** Keys remembered at most; beyond that the oldest pause is forgotten. */
const MOST_KEYS = 1_000;

/** Remembers pauses, of at most 1,000 keys. */
export function pauses(): Pauses {
  const ends = new Map<string, number>();
  return {
    pause(key, until) {
      const end = Math.max(until, ends.get(key) ?? 0);
      ends.delete(key);
      if (ends.size >= MOST_KEYS) ends.delete(ends.keys().next().value!);
      ends.set(key, end);
    },
    left(key, now) {
      const end = ends.get(key);
      if (end === undefined) return 0;
      if (end <= now) ends.delete(key);
      return Math.max(0, end - now);
    },
  };
}
