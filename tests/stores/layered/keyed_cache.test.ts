import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore, storedKey } from "../../../mod.ts";
import { keyedCache } from "../../../stores/layered/keyed_cache.ts";

test("a cache keeps prefixes and algorithms apart, and two limiters of one share", () => {
  const map = keyedCache<number>(memoryStore(), 10);
  map.of("a", "gcra").set("key", 1);
  map.of("b", "gcra").set("key", 2);
  map.of("a", "fixedWindow").set("key", 3);
  assert.equal(map.of("a", "gcra").get("key"), 1);
  assert.equal(map.of("b", "gcra").get("key"), 2);
  assert.equal(map.of("a", "fixedWindow").get("key"), 3);
  map.delete(storedKey("a", "gcra", "key"));
  map.delete(storedKey("a", "gcra", "unknown"));
  assert.equal(map.of("a", "gcra").get("key"), undefined);
  assert.equal(map.of("b", "gcra").get("key"), 2);
});

test("a cache holds at most so many keys, of all limiters together", () => {
  const map = keyedCache<number>(memoryStore(), 3);
  const limiters = ["a", "b"].map((prefix) => map.of(prefix, "gcra"));
  for (let key = 0; key < 5; key++) limiters[key % 2]!.set(`key ${key}`, key);
  const held = limiters.map(({ get }) =>
    [0, 1, 2, 3, 4].filter((key) => get(`key ${key}`) === key)
  );
  assert.deepEqual(held, [[2, 4], [3]]);
});
