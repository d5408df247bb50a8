import assert from "node:assert/strict";
import { test } from "node:test";

import { gcra, limiter, memoryStore } from "../../../mod.ts";
import { denyCache } from "../../../stores/layered/layered.ts";

test(
  "limiters of 10,000 tenants leave no more in a deny cache than the keys it may hold",
  () => {
    const NativeMap = globalThis.Map;
    const maps: Map<unknown, unknown>[] = [];
    globalThis.Map = class<Key, Value> extends NativeMap<Key, Value> {
      constructor() {
        super();
        if (maps.length < 2) maps.push(this as Map<unknown, unknown>);
      }
    } as MapConstructor;
    const inner = memoryStore({ maxKeys: 100 });
    maps.length = 0;
    // The first map that a cache makes is the map of its families.
    const store = denyCache(inner, { maxKeys: 50 });
    globalThis.Map = NativeMap;

    const algorithm = gcra({ limit: 1, period: "1h", burst: 1 });
    for (let tenant = 0; tenant < 10_000; tenant++) {
      const api = limiter(algorithm, { store, prefix: `tenant${tenant}` });
      api.consume("key");
      if (tenant % 10 === 0) assert.equal(api.consume("key").allowed, false);
    }
    assert.deepEqual(maps.map(({ size }) => size), [50]);
  },
);
