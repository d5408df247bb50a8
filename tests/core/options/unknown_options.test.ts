import assert from "node:assert/strict";
import { test } from "node:test";

import {
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  limiter,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../mod.ts";

const rate = { limit: 1, period: 1_000 } as const;

/** Calls with an option that does not exist, what could not be done, and the option that was meant. */
const CALLS: readonly [
  action: string,
  name: string,
  meant: string,
  call: (bad: object) => unknown,
][] = [
  ["create gcra", "burts", "burst", (bad) => gcra({ ...rate, ...bad })],
  ["create gcra", "Limit", "limit", (bad) => gcra({ ...rate, ...bad })],
  ["create gcra", "capacity", "burst", (bad) => gcra({ ...rate, ...bad })],
  ["create leakyBucket", "brust", "burst", (bad) => leakyBucket({ ...rate, ...bad })],
  ["create tokenBucket", "refil", "refill", (bad) => tokenBucket({ ...rate, ...bad })],
  ["create tokenBucket", "refillRate", "limit", (bad) => tokenBucket({ ...rate, ...bad })],
  ["create leakyQueue", "queu", "queue", (bad) => leakyQueue({ ...rate, queue: 1, ...bad })],
  ["create fixedWindow", "ancor", "anchor", (bad) => fixedWindow({ ...rate, ...bad })],
  ["create slidingCounter", "points", "limit", (bad) => slidingCounter({ ...rate, ...bad })],
  ["create slidingLog", "nmae", "name", (bad) => slidingLog({ ...rate, ...bad })],
  [
    "create slidingWindow",
    "precison",
    "precision",
    (bad) => slidingWindow({ ...rate, precision: 10, ...bad }),
  ],
  ["create limiter", "keyPrefix", "prefix", (bad) => limiter(gcra(rate), bad)],
  ["create limiter", "onDecison", "onDecision", (bad) => limiter(gcra(rate), bad)],
  ["create memoryStore", "max", "maxKeys", (bad) => memoryStore(bad)],
  ["acquire", "timeout", "maxWait", (bad) => limiter(gcra(rate)).acquire("key", bad)],
];

for (const [action, name, meant, call] of CALLS) {
  test(`an unknown option is refused, and the one that is meant named: ${action}, ${name}`, async () => {
    const message = `Cannot ${action} as there is no option "${name}": did you mean ${meant}?`;
    await assert.rejects(async () => await call({ [name]: 1 } as never), {
      name: "TypeError",
      message,
    });
    // A value that is absent is no option.
    await call({ [name]: undefined });
  });
}

test("what other libraries call a period is named with its unit, what is like nothing with all options", () => {
  for (const name of ["windowMs", "duration", "interval"]) {
    assert.throws(() => gcra({ ...rate, ...{ [name]: 1 } }), {
      message: `Cannot create gcra as there is no option "${name}": ` +
        'did you mean period, in milliseconds or as text such as "10s"?',
    });
  }
  assert.throws(() => gcra({ ...rate, ...{ colour: 1 } }), {
    message: 'Cannot create gcra as there is no option "colour": ' +
      "its options are limit, period, name, burst",
  });
  const long = "x".repeat(1_000);
  assert.throws(() => gcra({ ...rate, ...{ [long]: 1 } }), /there is no option "x{60}\.\.\."/);
});
