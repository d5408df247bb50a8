import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { drawn } from "../support/seed.ts";

/** The warnings of a maker in a thread of its own, because a program warns once. */
async function warningsOf(maker: string): Promise<readonly string[]> {
  const url = new URL("./support/one_of_several.ts", import.meta.url);
  const worker = new Worker(url, { workerData: maker });
  try {
    return await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  } finally {
    await worker.terminate();
  }
}

const MAKERS = ["limiter", "gate", "ruleEngine", "store of hits", "layerMemory"];

for (const maker of drawn(MAKERS, 2)) {
  test(`one of several processes warns once of the memory store of a ${maker}`, async () => {
    const warnings = await warningsOf(maker);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /this process is one of several/);
  });
}

test("a service gives no warning of the memory store in which it counts its log", async () => {
  assert.deepEqual(await warningsOf("service"), []);
});
