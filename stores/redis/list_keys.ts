/*
 * Lists the keys of a prefix and an algorithm, on every server, and reads their values.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { ListedKey } from "../../core/store.ts";
import { plainKey } from "../../core/stored_key.ts";
import { decodeText } from "../stepping/cell.ts";
import { repliesTo } from "./connections/round_trip.ts";
import type { Router } from "./routing/router.ts";
import { globOf, prefixPattern, walkServer } from "./walk_server.ts";

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
