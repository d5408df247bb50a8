import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { startProgram } from "../support/child_process.ts";
import { needs } from "../support/program.ts";
import { startRedis } from "../support/redis/redis_process.ts";
import { readText, rootPath } from "../support/tree.ts";

/** Where a copy of a recipe finds the packages that are installed here. */
const CACHE = `${rootPath}node_modules/.cache`;

/** The recipe over Redis instead of memory, with an end. */
function recipeOver(url: string): string {
  const source = (path: string) => JSON.stringify(pathToFileURL(`${rootPath}${path}`).href);
  const recipe = readText("examples/frameworks/fastify_rate_limit/app.ts")
    .replace('import { memoryStore } from "tidegate";', "")
    .replace('"tidegate/fastify"', source("adapters/frameworks/fastify.ts"))
    .replace(
      "memoryStore()",
      // A busy machine may take longer than the default to answer a first call.
      `redisStore(createClient({ url: ${JSON.stringify(url)} }), { timeout: 20_000 })`,
    );
  return `import { createClient } from "redis";
import { redisStore } from ${source("stores/redis/redis_store.ts")};
${recipe}
const { port } = app.server.address();
console.log((await fetch("http://127.0.0.1:" + port)).status);
await app.close();
`;
}

/** Milliseconds in which a process must end. A process that something keeps running never does. */
const END_WITHIN = 30_000;

test(
  "a process with the recipe for @fastify/rate-limit ends over Redis",
  needs("redis-server"),
  async () => {
    const redis = await startRedis();
    mkdirSync(CACHE, { recursive: true });
    const folder = mkdtempSync(join(CACHE, "recipe-"));
    const file = join(folder, "app.mjs");
    writeFileSync(file, recipeOver(redis.url));
    const program = startProgram("node", [file], { PORT: "0" });
    const late = setTimeout(() => void program.end("SIGKILL"), END_WITHIN);
    try {
      await program.line(/^200$/);
      assert.equal(await program.ended, 0);
    } finally {
      clearTimeout(late);
      await program.end("SIGKILL");
      rmSync(folder, { recursive: true });
      await redis.stop();
    }
  },
);
