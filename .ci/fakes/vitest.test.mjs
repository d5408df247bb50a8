import { test, vi } from "vitest";

import { behaviours } from "./behaviours.mjs";

const fakes = {
  install: () => void vi.useFakeTimers(),
  tick: (/** @type {number} */ milliseconds) => void vi.advanceTimersByTime(milliseconds),
  restore: () => void vi.useRealTimers(),
};
for (const [name, behave] of Object.entries(behaviours)) test(name, () => behave(fakes), 60_000);
