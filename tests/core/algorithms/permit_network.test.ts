/*
 * Permits whose messages are retried, doubled, lost and late. `npm run test:long` takes a million
 * messages to each reducer and each store.
 */

import { test } from "node:test";

import { permitsInReducer, permitsInStore } from "../../../adapters/testing/permit_laws.ts";
import type { SendPermitStep } from "../../../adapters/testing/permit_laws.ts";
import { type Algorithm, all, concurrency, gcra, memoryStore, type Store } from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { permitNetwork } from "../../support/permits/permit_network.ts";
import { fcOptions, isLong, seed } from "../../support/seed.ts";

/** Messages of one key; then come other options. */
const PER_KEY = 2_000;

const FORMS: Readonly<Record<string, (limit: number, ttl: number) => Algorithm>> = {
  concurrency: (limit, ttl) => concurrency({ limit, ttl }),
  "concurrency in all": (limit, ttl) =>
    all(concurrency({ limit, ttl }), gcra({ limit: 1_000_000, period: "1s" })),
};

for (const [form, make] of Object.entries(FORMS)) {
  test(`${form}: each answer of a reducer is that of ids in a list`, () =>
    run(make, permitsInReducer, 3));
}

const STORES: Readonly<Record<string, () => Store>> = {
  memoryStore: () => memoryStore(),
  sharedStore: () => sharedStore({ capacity: 2_000, maxBytes: 2 ** 22, threads: 2 }),
  sqliteStore: () => sqliteStore(":memory:"),
};

for (const [name, open] of Object.entries(STORES)) {
  test(`${name}: each answer is that of ids in a list`, async () => {
    await using store = open();
    await run(FORMS.concurrency!, (algorithm) => permitsInStore(store, algorithm), 1);
  });
}

/** Runs so many keys, or more of them if it may take long. */
async function run(
  make: (limit: number, ttl: number) => Algorithm,
  sendTo: (algorithm: Algorithm) => SendPermitStep,
  keys: number,
): Promise<void> {
  const total: Record<string, number> = {};
  const { numRuns } = fcOptions({ numRuns: isLong() ? 50 : keys });
  for (let key = 0; key < numRuns; key++) {
    const limit = [3, 1, 8, 5, 2, 20, 0][key % 7]!;
    const ttl = [30, 10, 100, 1_000][key % 4]!;
    const send = sendTo(make(limit, ttl));
    const counts = await permitNetwork({ limit, ttl, steps: PER_KEY, seed: seed() + key, send });
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
  }
  if (isLong()) console.log(JSON.stringify(total));
}
