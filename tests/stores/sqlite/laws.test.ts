import { test } from "node:test";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { fcOptions } from "../../support/seed.ts";

for (const batch of ["call", "turn"] as const) {
  const make = () => sqliteStore(":memory:", { batch });
  const writes = (store: unknown) => (store as ReturnType<typeof make>).statistics().writes;
  for (const law of storeLaws(make, { reuse: true, writes })) {
    test(`sqliteStore, a transaction a ${batch}: ${law.name}`, () =>
      law.run(fcOptions({ numRuns: 20 })));
  }
}
