import assert from "node:assert/strict";
import { test } from "node:test";

import { storeFigures } from "../../../../adapters/service/metrics/store_figures.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";

test("a store that takes long to count is counted seldom, whoever asks", () => {
  let now = 0;
  let counted = 0;
  function statistics() {
    now += 20;
    return { keys: ++counted, onFull: "evict" };
  }
  const store = { ...memoryStore(), statistics };
  const figures = storeFigures(store, () => now);
  for (let times = 0; times < 1_000; times++) {
    assert.deepEqual(figures().store, { keys: 1 });
  }
  now += 999;
  assert.deepEqual(figures().store, { keys: 1 });
  now += 1;
  assert.deepEqual(figures().store, { keys: 2 });
});

test("one without statistics, or with a promise of them, has no figures", () => {
  const { statistics: _statistics, ...store } = memoryStore();
  assert.deepEqual(storeFigures(store)().store, {});
  const late = { ...store, statistics: () => Promise.resolve({ keys: 1 }) };
  assert.deepEqual(storeFigures(late)().store, {});
});
