/** The servers that have asked for a pause. */
export interface ServerPauses {
  /** Asks for a pause of a key; a longer one that is under way stays. */
  pause(key: string, now: number, milliseconds: number): void;
  /** Milliseconds that are left of the key's pause; 0 without a pause. */
  left(key: string, now: number): number;
}

/** Keys remembered at most; beyond that the pause that ends first is forgotten. */
const MAX_KEYS = 1_000;

/**
 * Remembers pauses, of at most 1,000 keys. Servers ask for them, and may ask for anything: no pause
 * lasts for longer than `longest` milliseconds, nor if the clock steps back meanwhile.
 */
export function serverPauses(longest: number): ServerPauses {
  const ends = new Map<string, number>();

  function left(key: string, now: number): number {
    const end = ends.get(key);
    if (end === undefined) return 0;
    if (end <= now) ends.delete(key);
    else if (end > now + longest) ends.set(key, now + longest);
    return Math.min(longest, Math.max(0, end - now));
  }

  return {
    left,
    pause(key, now, milliseconds) {
      const wait = Math.min(milliseconds, longest);
      if (!(wait > left(key, now))) return;
      if (!ends.has(key) && ends.size >= MAX_KEYS) ends.delete(firstToEnd(ends));
      ends.set(key, now + wait);
    },
  };
}

function firstToEnd(ends: ReadonlyMap<string, number>): string {
  let first = "";
  let earliest = Infinity;
  for (const [key, end] of ends) {
    if (end < earliest) [first, earliest] = [key, end];
  }
  return first;
}
