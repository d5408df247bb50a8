import { test } from "node:test";

import { permitLaws, permitReducerLaws } from "../../../adapters/testing/testing.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";

for (const law of permitReducerLaws()) {
  test(`concurrency: ${law.name}`, () => law.run(fcOptions({ numRuns: 100 })));
}

for (const law of permitLaws(() => memoryStore())) {
  test(`memoryStore: ${law.name}`, () => law.run(fcOptions({ numRuns: 100 })));
}

for (
  const law of permitLaws(() => sharedStore({ capacity: 1_000, maxBytes: 2 ** 20, threads: 4 }))
) {
  test(`sharedStore: ${law.name}`, () => law.run(fcOptions({ numRuns: 100 })));
}
