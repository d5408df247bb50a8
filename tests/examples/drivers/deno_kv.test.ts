import assert from "node:assert/strict";
import { test } from "node:test";
import { execFile } from "node:child_process";

import { rootPath } from "../../support/tree.ts";

const ARGUMENTS = ["test", "-A", "--no-check", "--quiet", "--unstable-kv"];

test("the driver of Deno KV and a store on it keep all laws, in Deno", async () => {
  const file = `${rootPath}tests/examples/drivers/deno_kv_laws.ts`;
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      `${rootPath}node_modules/.bin/deno`,
      [...ARGUMENTS, file],
      { cwd: rootPath },
      (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(stdout + stderr, { cause: error })),
    );
  });
  assert.match(output, /2\d passed/);
});
