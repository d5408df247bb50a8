/*
 * Deletes all keys of a prefix. It walks over each server by SCAN, on a connection of its own, so that
 * calls need not wait for it.
 */

import { StoreUnavailableError } from "../../core/errors.ts";
import { keyFamily } from "../../core/stored_key.ts";
import type { Connection, Dial } from "./clients/connection.ts";
import { repliesTo } from "./connections/round_trip.ts";
import { failureOfReply, firstError } from "./failures/reply_failure.ts";
import type { Router } from "./routing/router.ts";

/** The keys that the server examines in one step, and roughly the most that it replies with. */
const STEP = "1000";
/** The most walks, if keys move to another server during a walk. */
const MAX_WALKS = 5;

/**
 * Deletes all keys of a prefix, on every server.
 *
 * @param timeout The most milliseconds of each step.
 * @throws {StoreUnavailableError} If a server does not answer, or refuses. Some keys may be deleted
 * then.
 */
export async function deletePrefix(router: Router, prefix: string, timeout: number): Promise<void> {
  const pattern = `${globOf(keyFamily(prefix, "").slice(0, -2))}*`;
  try {
    for (let walk = 1;; walk++) {
      const dials = await router.masters();
      const moved = await Promise.all(dials.map((dial) => deleteOn(dial, pattern, timeout)));
      if (!moved.includes(true)) return;
      if (walk === MAX_WALKS) throw new Error("Keys kept moving between servers");
    }
  } catch (cause) {
    const message = `Cannot delete the keys of a prefix as Redis must answer: ${String(cause)}`;
    throw new StoreUnavailableError(message, "unknown", { cause });
  }
}

/** Deletes the matching keys of one server. Returns whether some keys have moved to another server. */
async function deleteOn(dial: Dial, pattern: string, timeout: number): Promise<boolean> {
  const connection = await dial(timeout);
  let moved = false;
  try {
    if (connection.isShared === true) await requireOneServer(connection, timeout);
    let cursor = "0";
    do {
      const scan = ["SCAN", cursor, "MATCH", pattern, "COUNT", STEP];
      const [reply] = await repliesTo(connection, [scan], timeout);
      if (reply instanceof Error) throw reply;
      const [next, keys] = reply as readonly [string, readonly string[]];
      cursor = String(next);
      // Each key has its own command, because in a cluster the keys are in different slots.
      const unlinks = keys.map((key) => ["UNLINK", key]);
      if (unlinks.length === 0) continue;
      const error = firstError(await repliesTo(connection, unlinks, timeout));
      if (error === undefined) continue;
      if (failureOfReply(error).kind !== "moved") throw error;
      moved = true;
    } while (cursor !== "0");
  } finally {
    connection.destroy();
  }
  return moved;
}

/** Requires a single server, because a client of several servers would send the walk to only one. */
async function requireOneServer(connection: Connection, timeout: number): Promise<void> {
  const [reply] = await repliesTo(connection, [["INFO", "cluster"]], timeout);
  if (!/cluster_enabled:0/.test(String(reply))) {
    throw new Error("The client must expose the nodes of its cluster, as node-redis's does");
  }
}

/** The pattern that matches only this text. */
function globOf(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}
