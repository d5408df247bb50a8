import { test } from "node:test";
import {
  scheduledStore,
  scheduledStoreLaws,
  storeLaws,
} from "../../../adapters/testing/testing.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../support/seed.ts";

for (const law of storeLaws(() => memoryStore())) {
  test(`memoryStore: ${law.name}`, () => law.run(fcOptions()));
}

for (const law of scheduledStoreLaws((scheduler) => scheduledStore(memoryStore(), scheduler))) {
  test(`memoryStore, by promises: ${law.name}`, () => law.run(fcOptions()));
}
