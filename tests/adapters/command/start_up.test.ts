import assert from "node:assert/strict";
import { test } from "node:test";

import { targetsOf } from "../../support/imports.ts";
import { readText } from "../../support/tree.ts";

/** The files that a program loads before it does anything. */
function loadedAtStart(path: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  const text = readText(path).replaceAll(/^import type [^;]*;$|^export type \{[^;]*;$/gm, "")
    .replaceAll("import(", "load(");
  for (const target of targetsOf({ path, text })) loadedAtStart(target, loaded);
  return loaded;
}

test("a command loads neither the service nor its stores unless it uses them", () => {
  const loaded = loadedAtStart("adapters/command/bin.ts");
  assert.ok(loaded.has("adapters/replay/replay.ts"));
  for (
    const path of [
      "adapters/service/serve.ts",
      "adapters/service/envoy/grpc_server.ts",
      "stores/redis/redis_store.ts",
    ]
  ) {
    assert.equal(loaded.has(path), false, path);
    assert.ok(readText(path).length > 0);
  }
});
