import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { completed, readManifests } from "../.ci/manifests.mjs";
import { exists, readText } from "./support/tree.ts";

const { deno, npm, tsconfig } = readManifests();
const entries = Object.entries(deno.exports as Record<string, string>);

describe("the manifests", () => {
  test("agree on the version, the entry points and the peers (npm run manifests)", () => {
    assert.deepEqual({ deno, npm, tsconfig }, completed({ deno, npm, tsconfig }));
  });

  test("differ when an entry point is in one of them only", () => {
    const more = { ...deno, exports: { ...deno.exports, "./more": "./adapters/more.ts" } };
    const { npm: other } = completed({ deno: more, npm, tsconfig });
    assert.notDeepEqual(other, npm);
    assert.deepEqual(other.exports["./more"], {
      types: "./dist/adapters/more.d.ts",
      default: "./dist/adapters/more.js",
    });
  });

  test("name files that are there", () => {
    for (const [, file] of entries) assert.ok(exists(file), file);
  });

  test("put every entry point in the published folders", () => {
    const folders = deno.publish.include as string[];
    for (const [, file] of entries) {
      assert.ok(folders.includes(file.split("/")[1] ?? ""), file);
    }
  });
});

describe("package.json", () => {
  test("has no dependencies, and only optional peers", () => {
    assert.equal(npm.dependencies, undefined);
    assert.equal(npm.optionalDependencies, undefined);
    assert.deepEqual(Object.keys(npm.peerDependencies), Object.keys(npm.peerDependenciesMeta));
  });

  test("develops against every peer", () => {
    for (const peer of Object.keys(npm.peerDependencies)) {
      assert.ok(peer in npm.devDependencies, peer);
    }
  });
});

test("package-lock.json holds no address to download from", () => {
  const lock = readText("package-lock.json");
  assert.doesNotMatch(lock, /"resolved"/);
  assert.doesNotMatch(lock, /\.tgz|registry/i);
  assert.equal(JSON.parse(lock).packages[""].version, npm.version);
});
