import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";

import { loadPackage } from "../../../adapters/optional_packages/load_package.ts";
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

test("a package that is too old is an error with the required and the installed version", async () => {
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

test("a package of the folder where the process started will do, as npx has others elsewhere", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-project-"));
  const before = process.cwd();
  const home = join(folder, "node_modules/only-here");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), '{ "name": "only-here", "main": "index.cjs" }');
  writeFileSync(join(home, "index.cjs"), "exports.found = 42;");
  const name = "only-here";
  try {
    process.chdir(folder);
    const wanted = { name, action: "find", since: "1.0", isRecent: () => true };
    const { found } = await loadPackage({
      ...wanted,
      load: (): Promise<{ readonly found: number }> => import(name),
    });
    assert.equal(found, 42);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
  }
});

test("under npx the message says how it is given a package, too", async () => {
  const { npm_command: before } = process.env;
  process.env["npm_command"] = "exec";
  try {
    const name = "missing";
    await assert.rejects(
      loadPackage({ ...wanted, name, load: () => import(name) }),
      /run npm install missing, or npx --package=tidegate --package=missing tidegate \.\.\.$/,
    );
  } finally {
    if (before === undefined) delete process.env["npm_command"];
    else process.env["npm_command"] = before;
  }
});

test("a version that cannot be found is left open", async () => {
  const unknown = { ...wanted, name: "missing", isRecent: () => false };
  await assert.rejects(loadPackage(unknown), /current value is an older version$/);
});
