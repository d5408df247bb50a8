import assert from "node:assert/strict";
import { test } from "node:test";

import { pathReadings } from "../../../../adapters/rules/files/path_readings.ts";

test("a hash ends a path, or is part of it", () => {
  assert.deepEqual([...pathReadings("/users/a#b")!].sort(), ["/users/a", "/users/a#b"]);
});

test("a target has 64 readings at most", () => {
  const most = "/a \\//\u00e9.%3f.;%2f#";
  assert.equal(pathReadings(most)?.length, 64);
  assert.equal(pathReadings(`${most}${most}`), undefined);
});
