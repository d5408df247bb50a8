/*
 * The newest time of all threads of a store. Each thread's time is steady by itself. But a thread
 * that attaches after the wall clock was set back would be behind the others, and see keys that were
 * used in the future. So the header holds the newest time, in whole seconds, and no thread falls
 * behind it.
 */

import type { TimeOfOthers } from "../../core/steady_time.ts";
import { header, type Memory } from "./layout.ts";

const SECOND = 1_000;

/** The newest time that threads of the store have published, rounded down to seconds. */
export function newestTime({ ints }: Memory): TimeOfOthers {
  const seconds = () => Atomics.load(ints, header.newestSecond) >>> 0;
  return {
    newest: () => seconds() * SECOND,
    tell(time) {
      const second = Math.floor(time / SECOND) >>> 0;
      // A thread that loses the race has lost it to another time, and compares again a second later.
      const published = seconds();
      if (published < second) {
        Atomics.compareExchange(ints, header.newestSecond, published | 0, second | 0);
      }
    },
  };
}
