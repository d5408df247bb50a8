// Runs where the package was installed without any of its peers: see .ci/installs.mjs.
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { gcra, limiter } from "tidegate";
import { redisStore } from "tidegate/redis";
import { objectSource, yamlReader } from "tidegate/rules";
import { commandLine, serve } from "tidegate/serve";

const rules = objectSource({ domain: "shop", rules: [{ key: "user", unlimited: true }] });

test("the core works", () => {
  const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }));
  assert.equal(api.consume("a").allowed, true);
  assert.equal(api.consume("a").allowed, false);
});

test("whoever uses a package that is missing learns how to install it", async () => {
  await assert.rejects(yamlReader(), {
    message: "Cannot read rules as the package yaml must be installed: run npm install yaml",
  });
  await assert.rejects(async () => await serve({ rules, port: 0, grpcPort: 0, log() {} }), {
    message: "Deno" in globalThis
      ? /^Cannot serve gRPC on Deno/
      : "Cannot serve gRPC as the package @grpc/grpc-js must be installed: " +
        "run npm install @grpc/grpc-js",
  });
  await assert.rejects(
    async () => await serve({ rules, port: 0, redis: { url: "redis://127.0.0.1:1" }, log() {} }),
    { message: "Cannot use Redis as the package redis must be installed: run npm install redis" },
  );
  assert.throws(
    () => redisStore(/** @type {any} */ ({})),
    /must come from node-redis 4 or later, /,
  );
});

test("malformed JSON is no reason to install a parser of YAML", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "tidegate-")), "rules.json");
  writeFileSync(path, '{"domain": "shop", "rules": [}');
  /** @type {string[]} */
  const complaints = [];
  const complain = (/** @type {string} */ line) => void complaints.push(line);
  assert.equal(await commandLine(["lint", path], { print() {}, complain }), 1);
  assert.match(complaints.join(), /rules\.json: error: it is not valid JSON: /);
});

test("parts made for a package that is missing name it", async () => {
  await assert.rejects(import("tidegate/effect"), /\beffect\b/);
  await assert.rejects(import("tidegate/otel"), /@opentelemetry\/api/);
  await assert.rejects(import("tidegate/testing"), /\bfast-check\b/);
});
