/*
 * Deletes all keys of a prefix, on every server.
 */

import { StoreUnavailableError } from "../../core/errors.ts";
import type { Dial } from "./clients/connection.ts";
import { repliesTo } from "./connections/round_trip.ts";
import { failureOfReply, firstError } from "./failures/reply_failure.ts";
import type { Router } from "./routing/router.ts";
import { prefixPattern, walkServer } from "./walk_server.ts";

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
  const pattern = prefixPattern(prefix);
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
  let moved = false;
  for await (const { keys, connection } of walkServer(dial, pattern, timeout)) {
    // Each key has its own command, because in a cluster the keys are in different slots.
    const unlinks = keys.map((key) => ["UNLINK", key]);
    const error = firstError(await repliesTo(connection, unlinks, timeout));
    if (error === undefined) continue;
    if (failureOfReply(error).kind !== "moved") throw error;
    moved = true;
  }
  return moved;
}
