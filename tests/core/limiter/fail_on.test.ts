import assert from "node:assert/strict";
import { test } from "node:test";

import { consumeAll, fixedWindow, limiter, memoryStore } from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

const algorithm = fixedWindow({ limit: 10, period: "1m" });

test("a wrong call rejects on a store that answers by promises, and throws on any other", async () => {
  const distant = limiter(algorithm, { store: asyncMemoryStore(), prefix: "api" });
  const near = limiter(algorithm, { store: memoryStore(), prefix: "api" });
  const stranger = limiter(algorithm, { store: asyncMemoryStore(), prefix: "api" });
  type Api = typeof distant | typeof near;
  const wrong: readonly ((api: Api) => unknown)[] = [
    (api) => api.consume(""),
    (api) => api.consume("key", -1),
    (api) => api.peek("", 1),
    (api) => api.charge("key", 0.5),
    (api) => api.refund("key", 0),
    (api) => api.reset(""),
    (api) => consumeAll([{ limiter: api, key: "" }]),
    (api) => consumeAll([{ limiter: api, key: "a" }, { limiter: stranger, key: "b" }]),
  ];
  for (const call of wrong) {
    const rejected = call(distant);
    assert.ok(rejected instanceof Promise, String(call));
    await assert.rejects(rejected, /^(TypeError|RangeError): Cannot /);
    assert.throws(() => call(near), /^(TypeError|RangeError): Cannot /);
  }
});
