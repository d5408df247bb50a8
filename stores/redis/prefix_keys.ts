/*
 * The keys of a prefix, on every server: walked over by SCAN, on connections of their own, so that calls
 * need not wait for them. They are listed with their values, or deleted.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { ListedKey } from "../../core/store.ts";
import { keyFamily, plainKey } from "../../core/stored_key.ts";
import { decodeText } from "../stepping/cell.ts";
import type { Connection, Dial } from "./clients/connection.ts";
import { repliesTo } from "./connections/round_trip.ts";
import { failureOfReply, firstError } from "./failures/reply_failure.ts";
import type { Router } from "./routing/router.ts";

/**
 * Lists the keys of a prefix and an algorithm, about a thousand at a time. A key that moves to another
 * server meanwhile may be missing.
 *
 * @param timeout The most milliseconds of each step.
 * @throws {StoreUnavailableError} If a server does not answer, or refuses.
 */
export async function* listKeys(
  router: Router,
  prefix: string,
  algorithm: Algorithm,
  timeout: number,
): AsyncGenerator<readonly ListedKey[], void> {
  const end = `}:${algorithm.id}`;
  const pattern = prefixPattern(prefix) + globOf(end);
  try {
    for (const dial of await router.masters()) {
      for await (const { keys, connection } of walkServer(dial, pattern, timeout)) {
        const texts = await repliesTo(connection, keys.map((key) => ["GET", key]), timeout);
        yield keys.flatMap((stored, index) => {
          const text = texts[index];
          const state = typeof text === "string" ? decodeText(text, algorithm) : undefined;
          return state === undefined ? [] : [[keyIn(stored, end), state]] as const;
        });
      }
    }
  } catch (cause) {
    const message = `Cannot list keys as Redis must answer: ${String(cause)}`;
    throw new StoreUnavailableError(message, "no", { cause });
  }
}

/** The limiter's key in a stored key, which may have a hash tag in braces before it. */
function keyIn(stored: string, end: string): string {
  const open = stored.lastIndexOf("{", stored.length - end.length);
  return plainKey(stored.slice(open + 1, -end.length));
}

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

/** The keys that the server examines in one step, and roughly the most that it replies with. */
const STEP = "1000";

/** Keys of a step, and the connection that found them. */
interface ServerStep {
  readonly keys: readonly string[];
  readonly connection: Connection;
}

/**
 * Walks over the keys that match a pattern. A key that is written meanwhile may come twice.
 *
 * @param timeout The most milliseconds of each step.
 * @throws The server's own error, or the error of the connection.
 */
async function* walkServer(
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
function prefixPattern(prefix: string): string {
  return `${globOf(keyFamily(prefix, "").slice(0, -2))}*`;
}

/** The pattern that matches only this text. */
function globOf(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}

/** Requires a single server, because a client of several servers would send the walk to only one. */
async function requireOneServer(connection: Connection, timeout: number): Promise<void> {
  const [reply] = await repliesTo(connection, [["INFO", "cluster"]], timeout);
  if (!/cluster_enabled:0/.test(String(reply))) {
    throw new Error("The client must expose the nodes of its cluster, as node-redis's does");
  }
}
