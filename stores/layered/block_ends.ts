/*
 * Ends blocks before their time is over, so that the units that nobody has used can go back. A block
 * that ended later would give back units of a time that the limit may have forgotten.
 */

import { agingTime } from "../aging_time.ts";
import { inBackground } from "../../core/in_background.ts";

/** A key whose block will end. */
export interface EndingBlock {
  /** The instant of its block's request, by the process's time; `undefined` if it has no block. */
  since(): number | undefined;
  /** Ends the block, unless its time is over. It is no longer watched. */
  end(isInTime: boolean): void;
}

/**
 * Ends each block between half of its time and three quarters, as long as timers are punctual.
 *
 * @param ttl Milliseconds of a block's time.
 * @param maxKeys The most keys to watch. The blocks of others end with their time.
 */
export function blockEnds(ttl: number, maxKeys: number) {
  /** The keys in the order of their blocks. */
  const watched = new Set<EndingBlock>();
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || watched.size === 0) return;
    isScheduled = true;
    inBackground(Math.max(1, Math.floor(ttl / 4)), endDue);
  }

  function endDue(): void {
    isScheduled = false;
    const now = agingTime();
    for (const key of [...watched]) {
      const since = key.since();
      const age = since === undefined ? Infinity : now - since;
      if (age < ttl / 2) continue;
      watched.delete(key);
      key.end(age < ttl);
    }
    schedule();
  }

  return {
    /** Ends the block of a key in time. Returns whether there was room for the key. */
    watch(key: EndingBlock): boolean {
      if (watched.size >= maxKeys) return false;
      watched.add(key);
      schedule();
      return true;
    },
  };
}

/** The ends of the blocks of a store. */
export type BlockEnds = ReturnType<typeof blockEnds>;
