import assert from "node:assert/strict";
import { test } from "node:test";
import { spawnSync } from "node:child_process";
import process from "node:process";

import { rootPath } from "../support/tree.ts";

test(
  "a test file that Deno cannot load fails the run, and the files after it run all the same",
  () => {
    const files = ["./tests/ci/no_such.test.ts", "./tests/runtime.test.ts"];
    const { status, stdout } = spawnSync(
      `${rootPath}node_modules/.bin/deno`,
      ["test", "-A", "--no-check", "--quiet", ".ci/on_deno.mjs"],
      {
        cwd: rootPath,
        encoding: "utf8",
        env: {
          ...process.env,
          NO_COLOR: "1",
          TIDEGATE_RUNTIME: "deno",
          TIDEGATE_FILES: files.join(),
        },
      },
    );
    assert.equal(status, 1);
    assert.match(stdout, /no_such\.test\.ts is loaded \.\.\. FAILED/);
    assert.match(stdout, /1 passed.*\| 1 failed/);
  },
);
