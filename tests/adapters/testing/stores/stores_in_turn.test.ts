import assert from "node:assert/strict";
import { test } from "node:test";
import {
  operationOn,
  storeLaws,
  storesInTurn,
  testedKey,
} from "../../../../adapters/testing/testing.ts";
import { gcra } from "../../../../core/algorithms/gcra.ts";
import type { Decision, Store } from "../../../../mod.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../../support/seed.ts";

const algorithm = gcra({ limit: 2, period: "1h" });
const onKey = (store: Store) => operationOn(testedKey(store, "turns", { algorithm }, "key"), 1);

test("calls go to one store after the other", async () => {
  const [one, other] = [memoryStore(), memoryStore()];
  const store = storesInTurn([one, other]);
  for (let i = 0; i < 4; i++) {
    const [decision] = await store.run([onKey(store)], 0) as Decision[];
    assert.equal(decision?.allowed, true);
  }
  for (const each of [one, other]) {
    const [decision] = each.run([onKey(each)], 0) as Decision[];
    assert.equal(decision?.remaining, 0);
  }
});

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
