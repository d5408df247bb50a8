import assert from "node:assert/strict";
import { test } from "node:test";

import { startProgram } from "../support/child_process.ts";

interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

test("the recipe for AWS Lambda limits each client: ten times 200, then 429", async () => {
  // By Bun, which finds the package's own name in the sources; Node would want the built package.
  const program = startProgram("bun", ["tests/support/call_lambda.ts"]);
  const [line] = await program.line(/^\[.*\]$/);
  const answers: readonly Answer[] = JSON.parse(line);
  assert.equal(await program.ended, 0);
  assert.equal(answers.length, 26);
  const clients = { "HTTP API": answers.slice(0, 13), "REST API": answers.slice(13) };
  for (const [name, of] of Object.entries(clients)) {
    for (const { statusCode, headers } of of.slice(0, 10)) {
      assert.equal(statusCode, 200, name);
      assert.equal(headers["RateLimit-Policy"], '"api";q=60;w=60');
      assert.match(String(headers["RateLimit"]), /^"api";r=\d;t=1$/);
    }
    const refused = of.slice(10, 12).find(({ statusCode }) => statusCode === 429);
    assert.ok(refused !== undefined, name);
    assert.equal(refused.headers["Retry-After"], "1");
    assert.equal(refused.headers["Content-Type"], "application/problem+json");
    assert.deepEqual(JSON.parse(refused.body)["violated-policies"], ["api"]);
    assert.equal(of[12]?.statusCode, 200, name);
  }
});
