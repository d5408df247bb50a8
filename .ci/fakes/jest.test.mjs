import { jest, test } from "@jest/globals";

import { behaviours } from "./behaviours.mjs";

const fakes = {
  install: () => void jest.useFakeTimers(),
  tick: (/** @type {number} */ milliseconds) => void jest.advanceTimersByTime(milliseconds),
  restore: () => void jest.useRealTimers(),
};
for (const [name, behave] of Object.entries(behaviours)) test(name, () => behave(fakes), 60_000);
