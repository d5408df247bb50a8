import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { startWorkerd, type WorkerdProcess } from "../../support/workerd/workerd_process.ts";
import { seed } from "../../support/seed.ts";

const WORKER = fileURLToPath(new URL("../../support/workerd/limits_worker.ts", import.meta.url));

test(
  "Durable Objects in workerd: the driver and a store on it keep all laws, and a kill forgets nothing",
  // workerd is the same, whichever runtime starts it.
  async () => {
    const workerd = await startWorkerd(WORKER);
    try {
      await keepsTheLaws(workerd);
      await admitsTheLimit(workerd);
    } finally {
      await workerd.stop();
    }
  },
);

async function keepsTheLaws(workerd: WorkerdProcess): Promise<void> {
  const outcomes = await workerd.get("laws", `/laws?seed=${seed()}`) as Record<string, string>;
  assert.ok(Object.keys(outcomes).length > 20);
  for (const [law, outcome] of Object.entries(outcomes)) assert.equal(outcome, "kept", law);
}

async function admitsTheLimit(workerd: WorkerdProcess): Promise<void> {
  for (const object of ["one", "other"]) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => workerd.get(object, "/")));
    assert.equal(answers.filter(Boolean).length, 20);
  }
  await workerd.killAndRestart();
  assert.equal(await workerd.get("one", "/"), false);
  assert.equal(await workerd.get("another", "/"), true);
}
