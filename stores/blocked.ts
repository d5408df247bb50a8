/*
 * `blocked`: the keys of a limiter that are blocked by hand. A store lists its keys, and a look at each
 * key whose state has a block says whether the block still holds, by the limiter's clock and after
 * options that were replaced.
 */

import { blockedFor } from "../core/algorithms/blocked_for.ts";
import { can } from "../core/algorithms/can.ts";
import { balance } from "../core/limiter/balance.ts";
import { type LimiterInternals, requireLimiter } from "../core/limiter/limiter_internals.ts";
import type { AnyLimiterBase } from "../core/limiter/limiter_types.ts";
import { typeError } from "../core/options/checks.ts";
import type { Store } from "../core/store.ts";
import { memoryList } from "./memory/list_slots.ts";

/** A key that is blocked by hand. */
export interface BlockedKey {
  /** The limiter's key. */
  readonly key: string;
  /** Milliseconds until the block ends; `Infinity` for a block without an end. */
  readonly blockedFor: number;
}

const ACTION = "list blocked keys";

/**
 * The keys that are blocked by hand, in no order: for people who look after a service, and not for
 * requests. It walks over all keys of the limiter, on Redis over all keys of the database, about a
 * thousand at a time, while calls go on. A key that is blocked or unblocked meanwhile may be missing or
 * not. It remembers the keys that it has found, and nothing else.
 *
 * @param limiter A limiter whose algorithm is `blockable(...)`, or an `all` with such a part, on a
 * store that can list its keys: memory, SQLite, Postgres, Redis, or a driver with `list`.
 * @throws {TypeError} If keys of the algorithm cannot be blocked, or the store cannot list its keys,
 * as a shared store, which keeps only hashes of them.
 * @throws {StoreUnavailableError} If the store does not answer.
 *
 * @example
 * ```ts
 * import { block, blockable, blocked, gcra, limiter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const api = limiter(blockable(gcra({ limit: 100, period: "1m", burst: 100 })));
 * block(api, "user:42", "forever");
 * for await (const { key, blockedFor } of blocked(api)) {
 *   assert.deepEqual([key, blockedFor], ["user:42", Infinity]);
 * }
 * ```
 */
export function blocked(limiter: AnyLimiterBase<"blocks">): AsyncGenerator<BlockedKey, void> {
  const { algorithm, store, family } = requireLimiter(ACTION, limiter);
  if (!can(algorithm, "blocks")) {
    throw typeError(ACTION, "the algorithm must be blockable(...)", algorithm.id);
  }
  const list = store.list ?? memoryList(store);
  if (list === undefined) {
    const rule = "its store must list its keys, as memory, SQLite, Postgres and Redis do";
    throw typeError(ACTION, rule, store.list);
  }
  return blockedIn(limiter, family, list.bind(store));
}

async function* blockedIn(
  limiter: AnyLimiterBase,
  { spec: { prefix, algorithm, older } }: LimiterInternals["family"],
  list: NonNullable<Store["list"]>,
): AsyncGenerator<BlockedKey, void> {
  const seen = new Set<string>();
  const algorithms = [algorithm, ...older.map(({ algorithm }) => algorithm)];
  for (const each of algorithms.filter((one) => can(one, "blocks"))) {
    for await (const page of list(prefix, each)) {
      for (const [key, state] of page) {
        if (seen.has(key) || blockedFor(each, state, 0) === 0) continue;
        seen.add(key);
        const { blockedFor: left } = await balance(limiter, key);
        if (left > 0) yield { key, blockedFor: left };
      }
    }
  }
}
