// Runs where the package was installed beside the oldest peers that it works with, but for an Effect
// that is a little older than that: see .ci/installs.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createClient } from "redis";
import { gcra } from "tidegate";
import { redisStore } from "tidegate/redis";
import { objectSource, readRules, yamlReader } from "tidegate/rules";
import { serve } from "tidegate/serve";
import { algorithmLaws } from "tidegate/testing";

const rules = objectSource({ domain: "shop", rules: [{ key: "user", unlimited: true }] });

test("yaml reads rules", async () => {
  const text =
    "domain: shop\nrules:\n  - { key: user, limits: [{ limit: -1, period: 1s, burst: 1 }] }\n";
  const { problems } = readRules([{ name: "rules.yaml", text }], await yamlReader());
  assert.deepEqual(problems.map(({ line, column }) => [line, column]), [[3, 36]]);
});

test("gRPC is served, but on Deno", async () => {
  const serving = serve({ rules, port: 0, grpcPort: 0, log() {} });
  if ("Deno" in globalThis) return await assert.rejects(serving, /Cannot serve gRPC on Deno/);
  const service = await serving;
  assert.ok((service.grpcPort ?? 0) > 0);
  await service.stop();
});

test("fast-check runs the laws", async () => {
  for (const law of algorithmLaws(gcra({ limit: 5, period: "1s", burst: 5 }))) {
    await law.run({ numRuns: 5 });
  }
});

test("a client of redis makes a store", async () => {
  await redisStore(createClient()).close();
});

test("Effect is refused, as it is too old", async () => {
  await assert.rejects(
    import("tidegate/effect"),
    /^Error: Cannot use tidegate\/effect as the package effect must be version 4\.1 or later \(.*\): current value is an older version$/,
  );
});
