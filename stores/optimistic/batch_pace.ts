/*
 * How many keys make one more batch beside those under way worth it, because each batch costs a
 * command, a write and a turn of the event loop.
 *
 * Small batches let client and server work at once. That gains no more than the client has to do: a
 * process that is busy for a quarter of the time waits for a server or a processor that others keep
 * busy, and there a small batch waits as long as a large one. To try both numbers and keep the quicker
 * one fails, because each of several processes is quicker with small batches, and all together are
 * slower.
 */

import { performance } from "../own_timers.ts";

/** The two numbers, and the share of its time for which a process that makes small batches is busy. */
const FEW_KEYS = 20;
const MANY_KEYS = 40;
const BUSY = 1 / 3;
/** The batches after which the share is measured again. */
const MEASURED = 64;

/** The pace of one server's batches. */
export interface BatchPace {
  /** The fewest keys of a batch beside others. */
  leastKeys(): number;
  /** Notes that a batch came back. */
  returned(): void;
}

/**
 * Makes the pace of a server's batches.
 *
 * @param now The time in milliseconds.
 * @param used The milliseconds of processor time that this process has used; 0 where nobody knows.
 */
export function batchPace(
  now: () => number = () => performance.now(),
  used: () => number = processorTime,
): BatchPace {
  let keys = MANY_KEYS;
  let batches = 0;
  let last = now();
  let lastUsed = used();
  return {
    leastKeys: () => keys,
    returned() {
      if (++batches % MEASURED !== 0) return;
      const [instant, usedNow] = [now(), used()];
      keys = usedNow - lastUsed > BUSY * (instant - last) ? FEW_KEYS : MANY_KEYS;
      last = instant;
      lastUsed = usedNow;
    },
  };
}

function processorTime(): number {
  const { process } = globalThis as {
    readonly process?: {
      cpuUsage?(): { readonly user: number; readonly system: number };
    };
  };
  const { user, system } = process?.cpuUsage?.() ?? { user: 0, system: 0 };
  return (user + system) / 1_000;
}
