import assert from "node:assert/strict";
import { after, test } from "node:test";

import { gcra, limiter, memoryStore } from "../../../mod.ts";
import { fallback } from "../../../stores/layered/layered.ts";
import { isOneOfSeveral, warnOfProcesses } from "../../../stores/memory/warn_of_processes.ts";

const worker = { getBuiltinModule: () => ({ isWorker: true }) };

test("a worker of a cluster and a further instance of PM2 are seen", () => {
  assert.equal(isOneOfSeveral(worker), true);
  assert.equal(isOneOfSeveral({ env: { NODE_APP_INSTANCE: "2" } }), true);
  for (const facts of [undefined, {}, { env: { NODE_APP_INSTANCE: "0" } }, { env: {} }]) {
    assert.equal(isOneOfSeveral(facts), false);
  }
  const forbidden = {
    getBuiltinModule(): unknown {
      throw new Error("not permitted");
    },
  };
  assert.equal(isOneOfSeveral(forbidden), false);
  assert.equal(isOneOfSeveral(globalThis.process), false);
});

test("the warning comes once, names a remedy, and is silenced by an option", () => {
  const warnings: string[] = [];
  const { warn } = console;
  after(() => void (console.warn = warn));
  console.warn = (text: string) => void warnings.push(text);
  limiter(gcra({ limit: 1, period: "1m", burst: 1 }));
  warnOfProcesses(memoryStore({ perProcess: true }), worker);
  warnOfProcesses(fallback(memoryStore(), memoryStore(), { share: 1 }), worker);
  assert.deepEqual(warnings, []);
  for (let count = 0; count < 3; count++) warnOfProcesses(memoryStore(), worker);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /redisStore.*perProcess: true/);
  assert.throws(() => memoryStore({ perProcess: 1 as never }), /perProcess must be true or false/);
});
