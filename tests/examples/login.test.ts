import assert from "node:assert/strict";
import { test } from "node:test";

import { startProgram } from "../support/child_process.ts";

test(
  "1,000 addresses that guess at an account neither get far nor lock its owner out",
  async () => {
    const program = startProgram("bun", ["tests/examples/support/login_attack.ts"]);
    const lines = [
      /^before: welcome, ada$/,
      /^first hour: 39 tries$/,
      /^second hour: 30 tries$/,
      /^owner mistypes: wrong user or password$/,
      /^owner: welcome, ada$/,
      /^owner elsewhere: again in \d min$/,
      /^one network: again in 1 min$/,
    ];
    for (const line of lines) await program.line(line);
    assert.equal(await program.ended, 0);
  },
);
