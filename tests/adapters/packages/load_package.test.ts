import assert from "node:assert/strict";
import { test } from "node:test";

import { loadPackage } from "../../../adapters/packages/load_package.ts";
import { readText } from "../../support/tree.ts";

const wanted = {
  name: "yaml",
  action: "read rules",
  since: "2.0",
  load: () => import("yaml"),
  isRecent: (yaml: object) => "LineCounter" in yaml,
};

test("a package that will do is loaded", async () => {
  const { parse } = await loadPackage(wanted);
  assert.equal(parse("1"), 1);
});

test("a package that is too old is an error that says what is needed, and what is there", async () => {
  const { version } = JSON.parse(readText("node_modules/yaml/package.json"));
  const old = { ...wanted, since: "9.0", isRecent: () => false };
  await assert.rejects(loadPackage(old), {
    message: "Cannot read rules as the package yaml must be version 9.0 or later " +
      `(run npm install yaml@latest): current value is ${version}`,
  });
});

test("a package that is missing is an error that says how to install it", async () => {
  const name = "missing";
  const missing = { ...wanted, name, load: () => import(name) };
  await assert.rejects(loadPackage(missing), {
    message: "Cannot read rules as the package missing must be installed: run npm install missing",
  });
});

test("a version that cannot be found is left open", async () => {
  const unknown = { ...wanted, name: "missing", isRecent: () => false };
  await assert.rejects(loadPackage(unknown), /current value is an older version$/);
});
