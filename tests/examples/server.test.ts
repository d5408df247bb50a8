import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { startProgram } from "../support/child_process.ts";
import { rawRequest } from "../support/raw_request.ts";
import { runtime } from "../support/runtime.ts";

describe("the example server", () => {
  test("answers 200 five times, then 429, and ends by SIGINT", async () => {
    const server = startProgram("bun", ["examples/server.ts"], { PORT: "0" });
    try {
      const [, port] = await server.line(/^Listening on http:\/\/[^:]+:(\d+)\//);
      for (const left of [4, 3, 2, 1, 0]) {
        const answer = await rawRequest(Number(port));
        assert.equal(answer.status, 200);
        assert.deepEqual(answer.values("ratelimit-policy"), ['"hello";q=30;w=60']);
        assert.match(answer.values("ratelimit").join(), new RegExp(`^"hello";r=${left};t=[12]$`));
        assert.deepEqual(answer.values("content-type"), ["text/plain;charset=utf-8"]);
        assert.equal(answer.body, `Hello! ${left} more at once.\n`);
      }
      const refused = await rawRequest(Number(port));
      assert.equal(refused.status, 429);
      assert.match(refused.values("ratelimit").join(), /^"hello";r=0;t=[12]$/);
      assert.match(refused.values("retry-after").join(), /^[12]$/);
      assert.deepEqual(refused.values("content-type"), ["application/problem+json"]);
      assert.deepEqual(refused.values("cache-control"), ["no-store"]);
      assert.deepEqual(JSON.parse(refused.body), {
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota Exceeded",
        status: 429,
        "violated-policies": ["hello"],
      });
    } finally {
      const status = await server.end("SIGINT");
      // Deno reports the signal that it sent, whatever the status.
      if (runtime() !== "deno") assert.equal(status, 0);
    }
  });

  test("says which PORT it needs", async () => {
    const server = startProgram("bun", ["examples/server.ts"], { PORT: "eighty" });
    await assert.rejects(server.line(/Listening/), /ended without/);
    assert.equal(await server.end("SIGTERM"), 1);
  });
});
