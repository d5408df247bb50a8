import assert from "node:assert/strict";
import { test } from "node:test";

import { isStoreError } from "../../core/errors.ts";
import { ContentionError, StoreFullError, StoreUnavailableError } from "../../mod.ts";

test("isStoreError recognises the store's errors, even from another copy of the package", () => {
  const unavailable = new StoreUnavailableError("down", "no");
  const ofAnotherCopy = Object.assign(new Error("down"), { name: "StoreUnavailableError" });
  for (
    const error of [unavailable, ofAnotherCopy, new ContentionError("x"), new StoreFullError("x")]
  ) {
    assert.equal(isStoreError(error), true);
  }
  for (const error of [new TypeError("wrong"), undefined, null, "StoreFullError", {}]) {
    assert.equal(isStoreError(error), false);
  }
});
