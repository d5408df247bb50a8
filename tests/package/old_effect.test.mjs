// Runs where the package was installed beside Effect 3: see .ci/installs.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";

import { gcra, limiter } from "tidegate";

test("the core works", () => {
  assert.equal(limiter(gcra({ limit: 1, period: "1m", burst: 1 })).consume("a").allowed, true);
});

test("the file that its modules are missing for says which version is needed", async () => {
  await assert.rejects(import("tidegate/effect"), /\beffect\b.*needs_effect_4_1/s);
});
