// Imports every entry point where the package was installed from a git address: see
// .ci/git_installs.mjs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const home = new URL("node_modules/tidegate/", import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL("package.json", home), "utf8"));

for (const path of Object.keys(exports).filter((path) => path !== "./package.json")) {
  test(`tidegate${path.slice(1)} can be imported`, async () => {
    const module = await import(`tidegate${path.slice(1)}`);
    assert.notDeepEqual(Object.keys(module), []);
  });
}
