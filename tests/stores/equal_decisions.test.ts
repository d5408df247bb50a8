/*
 * Decisions of every store beside those of the bare reducers: random calls of all verbs. By default a
 * few thousand; `npm run equality` makes over a million, on Redis by each way to commit.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import process from "node:process";

import { memoryStore, type Store } from "../../mod.ts";
import { sharedStore } from "../../stores/shared/shared_store.ts";
import { equalCalls, type Policy } from "../support/equal_calls.ts";
import { names, policy } from "../support/policies.ts";
import { withRedis } from "../support/redis/with_redis.ts";
import { drawn, seed } from "../support/seed.ts";

const CALLS = Number(process.env["TIDEGATE_CALLS"] ?? 500);
/** A store is full only after some hundred calls; looks at every key make these calls slow. */
const FORGETFUL_CALLS = Math.min(Math.max(CALLS, 1_500), 20_000);
const POLICIES: readonly Policy[] = names.map((name) => (
  { name, algorithm: policy(name, 12, 72_000) }
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
      await equalCalls(store, name, POLICIES, CALLS, seed());
    });
  }
});

describe("answers equal the answers of the reducers even if a full store forgets keys", () => {
  for (const [name, make] of drawn(Object.entries(SMALL), 2)) {
    test(`on ${name}`, async () => {
      await using store = make();
      const evictions = () => store.statistics().evictions;
      const lost = await equalCalls(store, name, POLICIES, FORGETFUL_CALLS, seed(), evictions);
      assert.ok(lost > 0, "no key was forgotten");
    });
  }
});

withRedis("answers on Redis equal the answers of the reducers", (_redis, { storeOf }) => {
  for (const commit of drawn(["script", "cas", "watch"] as const, 2)) {
    test(`by ${commit}`, async () => {
      await equalCalls(storeOf({ commit }), commit, POLICIES, CALLS, seed());
    });
  }
});
