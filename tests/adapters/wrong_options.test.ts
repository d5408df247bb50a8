import assert from "node:assert/strict";
import { test } from "node:test";

import { limitHandler } from "../../adapters/http/http.ts";
import { limitHandler as rateLimitOnNode } from "../../adapters/frameworks/node.ts";
import {
  fileSource,
  followRules,
  objectSource,
  redisSource,
  ruleEngine,
} from "../../adapters/rules/rules.ts";
import { serve } from "../../adapters/service/service.ts";
import { gcra, limiter, memoryStore } from "../../mod.ts";

const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), {
  store: memoryStore(),
  prefix: "api",
});
const source = objectSource({ domain: "shop", rules: [{ key: "" }] });

/** A function that checks its arguments, whatever its types say. */
type Loose = (...given: readonly unknown[]) => unknown;

/** Wrong calls, and the messages of their errors. */
const WRONG: readonly (readonly [call: () => unknown, message: string])[] = [
  ...([limitHandler, rateLimitOnNode] as readonly Loose[]).map((make) =>
    [
      () => (make({ limiter: api }) as Loose)(5),
      "Cannot limit a handler as handler must be a function: current value is 5",
    ] as const
  ),
  [
    () => (ruleEngine as Loose)({ rules: 5 }),
    "Cannot use the rules as they must be an object, or several: current value is 5",
  ],
  [
    () => (ruleEngine as Loose)({ store: 5 }),
    "Cannot create ruleEngine as store must be a store, such as memoryStore(): current value is 5",
  ],
  [
    () => (ruleEngine as Loose)(5),
    "Cannot create ruleEngine as its options must be an object: current value is 5",
  ],
  [
    () => (followRules as Loose)(source),
    "Cannot follow rules as its options must be an object: current value is undefined",
  ],
  [
    () => (followRules as Loose)(source, {}),
    "Cannot follow rules as apply must be a function: current value is undefined",
  ],
  [
    () => (followRules as Loose)(5, { apply() {} }),
    'Cannot follow rules as source must be a source, such as fileSource("rules.yaml"): ' +
    "current value is 5",
  ],
  [
    () => (fileSource as Loose)(),
    "Cannot create fileSource as path must be a non-empty string: current value is undefined",
  ],
  [
    () => (redisSource as Loose)(),
    "Cannot create redisSource as the client must come from node-redis 5.1 or later (run npm " +
    "install redis@6, and pass what createClient returns): current value is undefined",
  ],
  [
    () => (serve as Loose)(),
    "Cannot serve as its options must be an object: current value is undefined",
  ],
  [
    () => (serve as Loose)({ rules: 5 }),
    'Cannot serve as rules must be a source, such as fileSource("rules.yaml"): current value is 5',
  ],
  [
    () => (serve as Loose)({ rules: source, port: -1 }),
    "Cannot serve as port must be an integer from 0 to 65535: current value is -1",
  ],
];

for (const [index, [call, message]] of WRONG.entries()) {
  test(`wrong use ${index} is reported: ${message}`, async () => {
    // Some throw, and some reject.
    await assert.rejects(async () => await call(), { message });
  });
}
