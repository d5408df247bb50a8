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

  test("develops against every peer, in the version that Deno imports", () => {
    for (const peer of Object.keys(npm.peerDependencies)) {
      const [major] = npm.devDependencies[peer].split(".");
      assert.ok(deno.imports[peer].startsWith(`npm:${peer}@${major}.`), peer);
    }
  });

  test("is installed beside any version of a peer", () => {
    for (const [peer, range] of Object.entries(npm.peerDependencies)) {
      assert.equal(range, "*", peer);
    }
  });
});

describe("package-lock.json", () => {
  const lock = readText("package-lock.json");
  const packages = JSON.parse(lock).packages;

  test("holds no address to download from", () => {
    assert.doesNotMatch(lock, /"resolved"|\.tgz|registry/i);
  });

  test("is of this version", () => {
    assert.equal(packages[""].version, npm.version);
  });

  test("holds the runtimes of every platform", () => {
    for (const runtime of ["bun", "deno"]) {
      for (const name of Object.keys(packages[`node_modules/${runtime}`].optionalDependencies)) {
        assert.ok(`node_modules/${name}` in packages, name);
      }
    }
  });
});
