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
export function monitorsOf({ rows, clients }: Trace, { regular }: ClientNeeds): Uint8Array {
  const monitors = regular.slice();
  if (!regular.includes(1)) return monitors;
  const [low, high] = [new Uint32Array(clients.length), new Uint32Array(clients.length)];
  for (const { client, marks } of rows) {
    marks?.forEach((mark, row) => {
      const own = client[row]!;
      if (monitors[own] === 0) return;
      if ((mark & (LOGS_IN | WRITES)) !== 0) monitors[own] = 0;
      const path = mark >>> 2;
      (path < 32 ? low : high)[own]! |= 1 << (path & 31);
    });
  }
  return monitors.map((is, client) =>
    is === 1 && bits(low[client]!) + bits(high[client]!) <= MAX_PATHS ? 1 : 0
  );
}

function bits(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
