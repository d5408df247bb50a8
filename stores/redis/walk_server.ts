/*
 * Walks over the keys of one server by SCAN, on a connection of its own, so that calls need not wait
 * for it.
 */

import { keyFamily } from "../../core/stored_key.ts";
import type { Connection, Dial } from "./clients/connection.ts";
import { repliesTo } from "./connections/round_trip.ts";

/** The keys that the server examines in one step, and roughly the most that it replies with. */
const STEP = "1000";

/** Keys of a step, and the connection that found them. */
export interface ServerStep {
  readonly keys: readonly string[];
  readonly connection: Connection;
}

/**
 * Walks over the keys that match a pattern. A key that is written meanwhile may come twice.
 *
 * @param timeout The most milliseconds of each step.
 * @throws The server's own error, or the error of the connection.
 */
export async function* walkServer(
  dial: Dial,
  pattern: string,
  timeout: number,
): AsyncGenerator<ServerStep, void> {
  const connection = await dial(timeout);
  try {
    if (connection.isShared === true) await requireOneServer(connection, timeout);
    let cursor = "0";
    do {
      const scan = ["SCAN", cursor, "MATCH", pattern, "COUNT", STEP];
      const [reply] = await repliesTo(connection, [scan], timeout);
      if (reply instanceof Error) throw reply;
      const [next, keys] = reply as readonly [string, readonly string[]];
      cursor = String(next);
      if (keys.length > 0) yield { keys, connection };
    } while (cursor !== "0");
  } finally {
    connection.destroy();
  }
}

/** The pattern that all stored keys of a prefix match. */
export function prefixPattern(prefix: string): string {
  return `${globOf(keyFamily(prefix, "").slice(0, -2))}*`;
}

/** The pattern that matches only this text. */
export function globOf(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}

/** Requires a single server, because a client of several servers would send the walk to only one. */
async function requireOneServer(connection: Connection, timeout: number): Promise<void> {
  const [reply] = await repliesTo(connection, [["INFO", "cluster"]], timeout);
  if (!/cluster_enabled:0/.test(String(reply))) {
    throw new Error("The client must expose the nodes of its cluster, as node-redis's does");
  }
}
