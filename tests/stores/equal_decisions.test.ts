/*
 * Decisions of every store beside those of the bare reducers: random calls of all verbs. By default a
 * few thousand; `npm run equality` makes over a million, on Redis by each way to commit. With
 * `TIDEGATE_OTHER=<tree>` the reducers are those of another build.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import process from "node:process";
import { pathToFileURL } from "node:url";

import * as own from "../../mod.ts";
import { memoryStore, type Store } from "../../mod.ts";
import { sharedStore } from "../../stores/shared/shared_store.ts";
import { equalCalls, FORGOTTEN, type Policy } from "../support/equal_calls.ts";
import { withRedis } from "../support/redis/with_redis.ts";
import { seed } from "../support/seed.ts";

const CALLS = Number(process.env["TIDEGATE_CALLS"] ?? 500);
/** A store is full only after some hundred calls; looks at every key make these calls slow. */
const FORGETFUL_CALLS = Math.min(Math.max(CALLS, 1_500), 20_000);
const other: typeof own = process.env["TIDEGATE_OTHER"] === undefined
  ? own
  : await import(`${pathToFileURL(process.env["TIDEGATE_OTHER"])}/mod.ts`);

const MAKE: Readonly<Record<string, (from: typeof own) => own.Algorithm>> = {
  gcra: (from) => from.gcra({ limit: 12, period: "1m", burst: 12 }),
  gcraBurst: (from) => from.gcra({ limit: 7, period: "13s", burst: 10 }),
  fixedWindow: (from) => from.fixedWindow({ limit: 10, period: "1m" }),
  fixedFirst: (from) => from.fixedWindow({ limit: 10, period: "20s", anchor: "first" }),
  slidingWindow: (from) => from.slidingWindow({ limit: 12, period: "1m", precision: "5s" }),
  slidingLog: (from) => from.slidingLog({ limit: 9, period: "30s" }),
  slidingCounter: (from) => from.slidingCounter({ limit: 11, period: "1m" }),
  tokenBucket: (from) => from.tokenBucket({ limit: 10, period: "1m", burst: 15 }),
  tokenInterval: (from) =>
    from.tokenBucket({ limit: 6, period: "30s", burst: 6, refill: "interval" }),
  leakyBucket: (from) => from.leakyBucket({ limit: 10, period: "1m", burst: 10 }),
  leakyQueue: (from) => from.leakyQueue({ limit: 10, period: "1m", queue: 5 }),
  lockout: (from) => from.lockout({ limit: 5, period: "1m", lock: "2m" }),
  all: (from) =>
    from.all(
      from.gcra({ limit: 12, period: "1m", burst: 12 }),
      from.slidingWindow({ limit: 15, period: "2m", precision: "10s" }),
    ),
};
const POLICIES: readonly Policy[] = Object.entries(MAKE).map(([name, make]) => (
  { name, algorithm: make(own), reducer: make(other) }
));

const ALGORITHMS = POLICIES.map(({ algorithm }) => algorithm);

const STORES: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore(),
  shared: () => sharedStore({ capacity: 8_192, for: ALGORITHMS }),
};
/** Stores that hold about half of the keys in use. */
const SMALL = {
  memory: () => memoryStore({ maxKeys: 250 }),
  "memory by bytes": () => memoryStore({ maxBytes: 50_000 }),
  shared: () => sharedStore({ capacity: 250, for: ALGORITHMS }),
  "shared with a small arena": () => sharedStore({ capacity: 8_192, maxBytes: 14_000 }),
} as const;

describe("answers equal the answers of the reducers", () => {
  for (const [name, make] of Object.entries(STORES)) {
    test(`on ${name}`, async () => {
      await using store = make();
      show(name, await equalCalls(store, name, POLICIES, CALLS, seed()));
    });
  }
});

describe("answers equal the answers of the reducers even if a full store forgets keys", () => {
  for (const [name, make] of Object.entries(SMALL)) {
    test(`on ${name}`, async () => {
      await using store = make();
      const evictions = () => store.statistics().evictions;
      const counts = await equalCalls(store, name, POLICIES, FORGETFUL_CALLS, seed(), evictions);
      show(`${name}, which forgets`, counts);
      assert.ok(counts.get(FORGOTTEN)! > 0, "no key was forgotten");
    });
  }
});

withRedis("answers on Redis equal the answers of the reducers", (_redis, { storeOf }) => {
  for (const commit of ["script", "cas", "watch"] as const) {
    test(`by ${commit}`, async () => {
      show(commit, await equalCalls(storeOf({ commit }), commit, POLICIES, CALLS, seed()));
    });
  }
});

function show(name: string, counts: ReadonlyMap<string, number>): void {
  if (process.env["TIDEGATE_CALLS"] === undefined) return;
  const calls = [...counts].reduce((sum, [of, count]) => of === FORGOTTEN ? sum : sum + count, 0);
  console.log(`${name}: ${calls} calls, ${JSON.stringify(Object.fromEntries(counts))}`);
}
