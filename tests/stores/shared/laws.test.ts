import { test } from "node:test";
import { storeLaws } from "../../../adapters/testing/testing.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { memoryLaws } from "./support/memory_laws.ts";
import { windowLaws } from "./support/window_laws.ts";

// One store for all cases: what one leaves behind must not show in another.
const makeStore = () => sharedStore({ capacity: 1_000, maxBytes: 2 ** 20, threads: 64 });

for (const law of storeLaws(makeStore, { reuse: true })) {
  test(`sharedStore: ${law.name}`, () => law.run(fcOptions()));
}

for (const law of windowLaws) test(law.name, () => law.run(fcOptions({ numRuns: 60 })));
for (const law of memoryLaws) test(law.name, () => law.run(fcOptions({ numRuns: 150 })));
