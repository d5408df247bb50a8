/*
 * Monitors: programs that ask for one page or a few, at equal distances, as long as the log lasts.
 * Over an hour a monitor needs more than any person, and no limit should refuse it.
 */

import { LOGS_IN, WRITES } from "../log/request_fields.ts";
import type { Trace } from "../log/trace.ts";
import type { ClientNeeds } from "./client_needs.ts";

/** How many pages a monitor asks for. */
const MAX_PATHS = 3;

/** Says of each client whether it is a monitor: 1, else 0. */
export function monitorsOf({ counts, marks }: Trace, { regular }: ClientNeeds): Uint8Array {
  let to = 0;
  return regular.map((is, client) => {
    const own = marks?.subarray(to, to += counts[client]!) ?? [];
    if (is === 0 || own.some((mark) => (mark & (LOGS_IN | WRITES)) !== 0)) return 0;
    return new Set(own.map((mark) => mark >>> 2)).size <= MAX_PATHS ? 1 : 0;
  });
}
