import assert from "node:assert/strict";
import { test } from "node:test";

import { withTimeout } from "../../core/with_timeout.ts";

const late = () => {
  throw new Error("late");
};

test("withTimeout answers as the promise does, and as the caller says at the limit", async () => {
  assert.equal(await withTimeout(Promise.resolve(1), 60_000, late), 1);
  await assert.rejects(withTimeout(Promise.reject(new Error("down")), 60_000, late), /down/);
  const never = new Promise<number>(() => {});
  assert.equal(await withTimeout(never, 1, () => 2), 2);
  await assert.rejects(withTimeout(never, 1, late), /late/);
});
