import { test } from "node:test";
import sinon from "sinon";

import { behaviours } from "./behaviours.mjs";

/** @type {import("sinon").SinonFakeTimers | undefined} */
let clock;
const fakes = {
  install: () => void (clock = sinon.useFakeTimers(Date.now())),
  tick: (/** @type {number} */ milliseconds) => void clock?.tick(milliseconds),
  restore: () => clock?.restore(),
};
for (const [name, behave] of Object.entries(behaviours)) test(name, () => behave(fakes));
