/*
 * Permits of processes that have shares, over a network that loses, doubles and delays messages.
 * `npm run test:long` takes a million messages.
 */

import { test } from "node:test";

import { memoryStore, type SyncStore } from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { shareNetwork } from "../../support/permits/share_network.ts";
import { isLong, seed } from "../../support/seed.ts";

const STORES: Readonly<Record<string, () => SyncStore>> = {
  memoryStore: () => memoryStore(),
  sharedStore: () => sharedStore({ capacity: 2_000, maxBytes: 2 ** 22, threads: 2 }),
};
const NETWORKS = isLong() ? 50 : 2;
const MESSAGES = isLong() ? 10_000 : 600;

for (const [name, open] of Object.entries(STORES)) {
  test(`${name}: processes with shares never hold more than the limit, and the units of the dead are free within a ttl`, async () => {
    for (let network = 0; network < NETWORKS; network++) {
      await using store = open();
      await shareNetwork({
        limit: [10, 50, 3, 5_000][network % 4]!,
        ttl: [100, 30, 300][network % 3]!,
        units: [5, 2, 10][network % 3]!,
        processes: [4, 3, 8][network % 3]!,
        steps: MESSAGES,
        seed: seed() + network,
        store,
      });
    }
  });
}
