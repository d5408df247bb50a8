/** Units taken at an instant, less those given back. */
export interface LedgerEntry {
  /** The instant that they are attributed to, in milliseconds. */
  readonly at: number;
  /** How many of them are left. */
  readonly units: number;
}

/** Units that were taken and not given back, by instant. */
export interface Ledger {
  /** Oldest first. */
  readonly entries: readonly LedgerEntry[];
  /** Enters units taken, or given back if below 0: the newest first. */
  enter(now: number, units: number): void;
}

/**
 * An empty ledger. Units are attributed as algorithms whose clock steps back do: to the instant of
 * the call or that of the newest entry, whichever is later.
 *
 * Once its newest units were given back, a clock may step back to before the instant of those
 * units. The algorithm may rightly have forgotten units by then, so the ledger starts anew.
 *
 * @example
 * ```ts
 * import { ledger } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const book = ledger();
 * book.enter(1_000, 3);
 * book.enter(2_000, 3);
 * book.enter(2_000, -4);
 * assert.deepEqual(book.entries, [{ at: 1_000, units: 2 }]);
 * ```
 */
export function ledger(): Ledger {
  const entries: LedgerEntry[] = [];
  let latest = 0;

  function giveBack(units: number): void {
    let left = units;
    while (left > 0 && entries.length > 0) {
      const newest = entries.pop() as LedgerEntry;
      if (newest.units > left) entries.push({ at: newest.at, units: newest.units - left });
      left -= newest.units;
    }
  }
  return {
    entries,
    enter(now, units) {
      const attributed = Math.max(now, entries.at(-1)?.at ?? 0);
      if (attributed < latest) {
        entries.length = 0;
        latest = 0;
      }
      const at = Math.max(now, entries.at(-1)?.at ?? 0);
      if (units > 0) entries.push({ at, units });
      else giveBack(-units);
      latest = Math.max(latest, at);
    },
  };
}
