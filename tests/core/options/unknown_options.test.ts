import assert from "node:assert/strict";
import { test } from "node:test";

import { limitHandler as rateLimitOfNode } from "../../../adapters/frameworks/node.ts";
import { limitHandler } from "../../../adapters/http/http.ts";
import { limitedFetch } from "../../../adapters/outbound/limited_fetch.ts";
import { ruleEngine } from "../../../adapters/rules/rules.ts";
import {
  acquire,
  calendarWindow,
  consumeAll,
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
import { denyCache, fallback, lease } from "../../../stores/layered/layered.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";

const rate = { limit: 1, period: 1_000 } as const;

const bucket = { ...rate, burst: 1 } as const;
const daily = { limit: 1, every: "day", zone: "UTC" } as const;

/** Calls with an option that does not exist, what could not be done, and the option that was meant. */
const CALLS: readonly [
  action: string,
  name: string,
  meant: string,
  call: (bad: object) => unknown,
][] = [
  ["create gcra", "burts", "burst", (bad) => gcra({ ...bucket, ...bad })],
  ["create gcra", "Limit", "limit", (bad) => gcra({ ...bucket, ...bad })],
  ["create gcra", "capacity", "burst", (bad) => gcra({ ...bucket, ...bad })],
  ["create leakyBucket", "brust", "burst", (bad) => leakyBucket({ ...bucket, ...bad })],
  ["create tokenBucket", "refil", "refill", (bad) => tokenBucket({ ...bucket, ...bad })],
  ["create tokenBucket", "refillRate", "limit", (bad) => tokenBucket({ ...bucket, ...bad })],
  ["create leakyQueue", "queu", "queue", (bad) => leakyQueue({ ...rate, queue: 1, ...bad })],
  ["create calendarWindow", "timezone", "zone", (bad) => calendarWindow({ ...daily, ...bad })],
  ["create fixedWindow", "ancor", "anchor", (bad) => fixedWindow({ ...rate, ...bad })],
  ["create slidingCounter", "points", "limit", (bad) => slidingCounter({ ...rate, ...bad })],
  ["create slidingLog", "nmae", "name", (bad) => slidingLog({ ...rate, ...bad })],
  [
    "create slidingWindow",
    "precison",
    "precision",
    (bad) => slidingWindow({ ...rate, precision: 10, ...bad }),
  ],
  ["create limiter", "keyPrefix", "prefix", (bad) => limiter(gcra(bucket), bad)],
  ["create limiter", "onDecison", "onDecision", (bad) => limiter(gcra(bucket), bad)],
  ["create memoryStore", "max", "maxKeys", (bad) => memoryStore(bad)],
  ["create sharedStore", "size", "capacity", (bad) => sharedStore({ capacity: 1, ...bad })],
  ["create denyCache", "maxkeys", "maxKeys", (bad) => denyCache(memoryStore(), bad)],
  ["create lease", "unit", "units", (bad) => lease(memoryStore(), { units: 2, ttl: 1, ...bad })],
  [
    "create fallback",
    "shares",
    "share",
    (bad) => fallback(memoryStore(), memoryStore(), { share: 1, ...bad }),
  ],
  [
    "create rateLimit",
    "keyGenerator",
    "key",
    (bad) => limitHandler({ limiter: limiter(gcra(bucket)), ...bad }),
  ],
  ["create limitedFetch", "maxwait", "maxWait", (bad) => limitedFetch(bad)],
  ["create ruleEngine", "rule", "rules", (bad) => ruleEngine(bad)],
  [
    "consume all",
    "weight",
    "cost",
    (bad) => consumeAll([{ limiter: limiter(gcra(bucket)), key: "key", ...bad }]),
  ],
  [
    "consume all",
    "Cost",
    "cost",
    (bad) =>
      consumeAll([{ limiter: limiter(gcra(bucket)), key: "key", cost: 1, charge: false, ...bad }]),
  ],
  ["acquire", "timeout", "maxWait", (bad) => acquire(limiter(gcra(bucket)), "key", bad)],
];

for (const [action, name, meant, call] of CALLS) {
  test(`an unknown option is refused, and the error lists the options: ${action}, ${name}`, async () => {
    const message = new RegExp(
      `^Cannot ${action} because there is no option "${name}": its options are .*\\b${meant}\\b`,
    );
    await assert.rejects(async () => await call({ [name]: 1 } as never), {
      name: "TypeError",
      message,
    });
    // A value that is absent is no option.
    await call({ [name]: undefined });
  });
}

test("an entry is refused for an unknown option also where a class gives the others", () => {
  const one = limiter(gcra(bucket));
  class Entry {
    readonly key = "key";
    readonly Cost = 5;
    get limiter() {
      return one;
    }
  }
  const hidden = Object.defineProperty({ key: "key", Cost: 5 }, "limiter", { value: one });
  for (const entry of [new Entry(), hidden as Entry]) {
    assert.throws(() => consumeAll([entry]), {
      message: 'Cannot consume all because there is no option "Cost": ' +
        "its options are limiter, key, cost, charge",
    });
  }
});

test("the cost of an entry is read once", () => {
  let reads = 0;
  const entry = {
    limiter: limiter(gcra(bucket)),
    key: "key",
    get cost() {
      return ++reads;
    },
  };
  consumeAll([entry]);
  assert.equal(reads, 1);
});

test("another library's numbers, or an algorithm, get the names that tidegate has for them", () => {
  const one = limiter(gcra(bucket));
  const numbers = 'limit and period, as in { limit: 100, period: "1m" }';
  for (
    const [name, options] of [
      ["windowMs", { windowMs: 60_000, max: 100 }],
      ["max", { max: 100 }],
      ["windowMs", { limit: 100, windowMs: 60_000 }],
      ["algorithm", { algorithm: gcra(bucket) }],
      ["algorithm", one],
      ["max", { limits: [{ max: 5 }] }],
    ] as const
  ) {
    const meant = name === "algorithm" ? "limiter, as in { limiter: limiter(algorithm) }" : numbers;
    for (
      const make of [limitHandler, rateLimitOfNode] as readonly ((options: never) => unknown)[]
    ) {
      assert.throws(() => make(options as never), {
        name: "TypeError",
        message:
          `Cannot create rateLimit because there is no option "${name}": did you mean ${meant}?`,
      });
    }
  }
});

test("a name of any length is shown in a short message", () => {
  const long = "x".repeat(1_000);
  assert.throws(() => gcra({ ...bucket, ...{ [long]: 1 } }), /there is no option "x{60}\.\.\."/);
});
