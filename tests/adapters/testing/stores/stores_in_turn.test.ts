import assert from "node:assert/strict";
import { test } from "node:test";
import { storeLaws } from "../../../../adapters/testing/testing.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../../support/seed.ts";
import { storesInTurn } from "../../../support/stores_in_turn.ts";

test("the laws notice that stores in turn do not share their states", async () => {
  const [law] = storeLaws(() => storesInTurn([memoryStore(), memoryStore()]));
  await assert.rejects(async () => await law?.run({ ...fcOptions(), endOnFailure: true }));
});

for (
  const law of storeLaws(() => {
    const store = memoryStore();
    return storesInTurn([store, store]);
  })
) {
  test(`one store in turn with itself: ${law.name}`, () => law.run(fcOptions({ numRuns: 10 })));
}
