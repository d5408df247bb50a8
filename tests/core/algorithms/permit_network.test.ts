/*
 * Permits whose messages are retried, doubled, lost and late. `npm run test:long` takes a million
 * messages to each reducer and each store.
 */

import { test } from "node:test";

import { permitsInReducer, permitsInStore } from "../../../adapters/testing/permit_laws.ts";
import { type Algorithm, all, concurrency, gcra, memoryStore, type Store } from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { permitNetworks } from "../../support/permits/permit_network.ts";

const FORMS: Readonly<Record<string, (limit: number, ttl: number) => Algorithm>> = {
  concurrency: (limit, ttl) => concurrency({ limit, ttl }),
  "concurrency in all": (limit, ttl) =>
    all(concurrency({ limit, ttl }), gcra({ limit: 1_000_000, period: "1s", burst: 1_000_000 })),
};

for (const [form, make] of Object.entries(FORMS)) {
  test(`${form}: each answer of a reducer is that of ids in a list`, () =>
    permitNetworks(permitsInReducer, { make, keys: 3 }));
}

const STORES: Readonly<Record<string, () => Store>> = {
  memoryStore: () => memoryStore(),
  sharedStore: () => sharedStore({ capacity: 2_000, maxBytes: 2 ** 22, threads: 2 }),
  sqliteStore: () => sqliteStore(":memory:"),
};

for (const [name, open] of Object.entries(STORES)) {
  test(`${name}: each answer is that of ids in a list`, async () => {
    await using store = open();
    await permitNetworks((algorithm) => permitsInStore(store, algorithm), { keys: 1 });
  });
}
