import assert from "node:assert/strict";
import { test } from "node:test";

import { isStoreError } from "../../core/errors.ts";
import { ContentionError, StoreFullError, StoreUnavailableError } from "../../mod.ts";

test("isStoreError knows the store's errors, those of another copy of the package too", () => {
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
