import assert from "node:assert/strict";

import {
  type Algorithm,
  all,
  type AnyLimiterBase,
  block,
  blockable,
  blocked,
  type Decision,
  gcra,
  limiter,
  lockout,
  slidingLog,
  type Store,
  unblock,
} from "../../mod.ts";
import { upTo } from "./seed.ts";

const MINUTE = 60_000;

/** Algorithms whose keys can be blocked. */
export const BLOCKABLE = [
  gcra({ limit: 5, period: "5m", burst: 5 }),
  lockout({ limit: 5, period: "5m", lock: "10m" }),
  slidingLog({ limit: 5, period: "5m" }),
  all(
    gcra({ limit: 5, period: "5m", burst: 5 }),
    slidingLog({ limit: 5, period: "5m" }),
  ),
].map((algorithm) => blockable(algorithm));

/** Limiters on one store, whose clock begins at an instant of its own, as Redis needs. */
export async function lifeOfABlock(
  store: Store,
  algorithm: Algorithm<unknown, "blocks">,
  prefix: string,
): Promise<void> {
  const start = 1_700_000_000_000;
  let now = start;
  const api = limiter(algorithm, { store, prefix, clock: () => now });
  const seen = async (call: Decision | Promise<Decision>) => {
    const { allowed, remaining, retryAfter } = await call;
    return [allowed, remaining, retryAfter];
  };
  assert.deepEqual(await seen(api.consume("ada", 2)), [true, 3, 0]);
  assert.deepEqual(await seen(block(api, "ada", "1m", { reason: "abuse" })), [true, 0, 0]);
  assert.deepEqual(await seen(api.consume("ada")), [false, 0, MINUTE]);
  assert.deepEqual(await seen(api.peek("ada")), [false, 0, MINUTE]);
  assert.deepEqual(await seen(api.consume("eve")), [true, 4, 0]);
  now += 1_000;
  assert.deepEqual(await seen(block(api, "ada", "10s")), [true, 0, 0]);
  assert.deepEqual(await seen(api.consume("ada")), [false, 0, MINUTE - 1_000]);
  const freed = await unblock(api, "ada");
  assert.equal(freed.remaining, 3);
  assert.deepEqual(await seen(api.consume("ada")), [true, 2, 0]);
  await block(api, "ada", "2m");
  now += 2 * MINUTE - 1;
  assert.equal((await api.consume("ada")).retryAfter, 1);
  now++;
  assert.equal((await api.consume("ada")).allowed, true);
  await block(api, "ada", "1h");
  await api.reset("ada");
  assert.deepEqual(await seen(api.consume("ada")), [true, 4, 0]);

  await block(api, "ada", "forever");
  await block(api, "{50 %}", "1m");
  const other = limiter(algorithm, { store, prefix: `${prefix}*`, clock: () => now });
  await block(other, "eve", "1h");
  assert.deepEqual(await seen(api.consume("ada")), [false, 0, Infinity]);
  if ("grow" in store) return assert.throws(() => blocked(api), /its store must list its keys/);
  assert.deepEqual(await listedBlocks(api), [["ada", Infinity], ["{50 %}", MINUTE]]);
  assert.deepEqual(await listedBlocks(other), [["eve", 60 * MINUTE]]);
  now += MINUTE;
  assert.deepEqual(await listedBlocks(api), [["ada", Infinity]]);
  await unblock(api, "ada");
  assert.deepEqual(await listedBlocks(api), []);
}

/** More keys than a page of a list has, which a database and a program may put in another order. */
export async function listsMany(store: Store): Promise<void> {
  const api = limiter(BLOCKABLE[0]!, { store, prefix: "many" });
  const letters = ["a", "B", "_", "\u00e9", "\uffee", "\u{1f600}", "{%}"];
  const keys = letters.flatMap((one) => upTo(150).map((index) => `${one} ${index}`)).sort();
  await Promise.all(keys.map(async (key) => await block(api, key, "forever")));
  const found = new Map(await listedBlocks(api));
  assert.deepEqual([...found.keys()].sort(), keys);
}

/** The keys that are blocked, sorted, each with the milliseconds of its block. */
export async function listedBlocks(
  limiter: AnyLimiterBase<"blocks">,
): Promise<readonly (readonly [key: string, blockedFor: number])[]> {
  const found: [string, number][] = [];
  for await (const { key, blockedFor } of blocked(limiter)) found.push([key, blockedFor]);
  return found.sort();
}
