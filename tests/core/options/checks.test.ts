import assert from "node:assert/strict";
import { test } from "node:test";

import {
  checkChoice,
  checkInteger,
  checkMilliseconds,
  checkStore,
} from "../../../core/options/checks.ts";

test("a check names the failed action, the requirement, and the given value", () => {
  const wrong: [() => void, string, string][] = [
    [
      () => checkInteger("create x", "size", 9, 1, 8),
      "RangeError",
      "Cannot create x as size must be an integer from 1 to 8: current value is 9",
    ],
    [
      () => checkInteger("create x", "size", "Mo", 1, 8),
      "TypeError",
      'Cannot create x as size must be an integer from 1 to 8: current value is "Mo"',
    ],
    [
      () => checkChoice("create x", "mode", "c", ["a", "b"]),
      "TypeError",
      'Cannot create x as mode must be "a" or "b": current value is "c"',
    ],
    [
      () => checkMilliseconds("wait", "time", Infinity),
      "RangeError",
      "Cannot wait as time must be a number of milliseconds, at least 0: current value is Infinity",
    ],
    [
      () => checkMilliseconds("wait", "time", -1, { infinite: true }),
      "RangeError",
      "Cannot wait as time must be a number of milliseconds, at least 0, or Infinity: current value is -1",
    ],
  ];
  for (const [value, shown] of [[Promise.resolve(), "a promise"], [{}, "an object"]] as const) {
    wrong.push([
      () => checkStore("create x", "store", value),
      "TypeError",
      `Cannot create x as store must be a store, such as memoryStore(): current value is ${shown}`,
    ]);
  }
  for (const [check, name, message] of wrong) assert.throws(check, { name, message });
  checkInteger("create x", "size", 8, 1, 8);
  checkChoice("create x", "mode", "b", ["a", "b"]);
  checkMilliseconds("wait", "time", 0.5);
  checkMilliseconds("wait", "time", Infinity, { infinite: true });
});
