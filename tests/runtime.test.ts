import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { runtime } from "./support/runtime.ts";

test("the suite runs on the runtime that it was started for", () => {
  const wanted = process.env["TIDEGATE_RUNTIME"];
  if (wanted === undefined) {
    assert.match(runtime(), /^(bun|deno|node)$/);
  } else {
    assert.equal(runtime(), wanted);
  }
});
