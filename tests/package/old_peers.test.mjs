// Runs where the package was installed beside peers that are too old: see .ci/installs.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createClient } from "redis";
import { redisStore } from "tidegate/redis";
import { objectSource, redisSource, yamlReader } from "tidegate/rules";
import { serve } from "tidegate/serve";

const rules = objectSource({ domain: "shop", rules: [{ key: "user", unlimited: true }] });

test("whoever uses one of them learns which version is needed, and which is there", async () => {
  await assert.rejects(
    yamlReader(),
    /^Error: Cannot read rules as the package yaml must be version 2\.0 or later \(run npm install yaml@latest\): current value is 1\.\d+\.\d+$/,
  );
  await assert.rejects(
    async () => await serve({ rules, port: 0, grpcPort: 0, log() {} }),
    "Deno" in globalThis
      ? /^Error: Cannot serve gRPC on Deno/
      : /^Error: Cannot serve gRPC as the package @grpc\/grpc-js must be version 1\.11 or later \(.*\): current value is 1\.9\.\d+$/,
  );
  await assert.rejects(
    import("tidegate/testing"),
    /^Error: Cannot use tidegate\/testing as the package fast-check must be version 3\.10 or later \(.*\): current value is 3\.9\.\d+$/,
  );
  const client = /** @type {any} */ (createClient());
  assert.throws(() => redisSource(client), /current value is a client of node-redis 4 or older$/);
  await redisStore(client).close();
});
