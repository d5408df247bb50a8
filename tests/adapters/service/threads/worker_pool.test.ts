import { NO_VERSION } from "../../../../adapters/service/rules_version.ts";
import assert from "node:assert/strict";
import { test } from "node:test";

import type { RuleFile } from "../../../../adapters/rules/rules.ts";
import type { Servers } from "../../../../adapters/service/threads/service_thread.ts";
import {
  startWorkers,
  type WorkerSettings,
} from "../../../../adapters/service/threads/worker_pool.ts";
import type { LogEvent } from "../../../../adapters/service/log.ts";
import { until } from "../support/running.ts";

const links = { show: () => "", lookup: undefined, log: () => {} };

/** Starts mortal workers, and the log of what becomes of them. */
async function withWorkers(
  size: number,
  settings: () => object,
  work: (workers: Servers, events: readonly LogEvent[]) => Promise<void>,
): Promise<void> {
  const events: LogEvent[] = [];
  const workers = await startWorkers({
    size,
    program: new URL("../support/mortal_worker.ts", import.meta.url),
    restartAfter: 10,
    settings: settings as () => WorkerSettings,
    links: { ...links, log: (event) => void events.push(event) },
    onRestart: () => events.push({ event: "restart" }),
  });
  try {
    await work(workers, events);
  } finally {
    await workers.stop(100);
  }
  assert.equal((await counted(workers)).threads, 0);
}

async function counted(workers: Servers) {
  const { calls, threads } = await workers.figures();
  return { calls, threads };
}

/** Waits until that many workers have died and have been replaced. */
async function replaced(workers: Servers, events: readonly LogEvent[], size: number) {
  await until(() => events.filter(({ event }) => event === "worker-ended").length === size);
  await until(async () => (await counted(workers)).threads === size);
}

test("a worker that dies is started again, with the rules of that time", () => {
  let files: readonly RuleFile[] = [];
  return withWorkers(2, () => ({ files }), async (workers, events) => {
    assert.equal(workers.ports.port, 4_242);
    assert.deepEqual(await counted(workers), { calls: { "files 0": 2 }, threads: 2 });
    files = [{ domain: "a", rules: [] }];
    workers.apply(files, NO_VERSION);
    await replaced(workers, events, 2);
    // The counts of dead workers are not lost: no sum grows smaller.
    const calls = { "files 0": 2, "files 1": 2 };
    assert.deepEqual(await counted(workers), { calls, threads: 2 });
    assert.equal(events.filter(({ event }) => event === "restart").length, 2);
  });
});

test(
  "a certificate is in place though workers die of it: others start with it",
  () =>
    withWorkers(2, () => ({ files: [] }), async (workers, events) => {
      await workers.secure({ cert: "", key: "", ca: undefined });
      await replaced(workers, events, 2);
    }),
);

test("a worker that cannot be started again is tried once more, until it can", () => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  return withWorkers(1, () => ({ files: [], shared: word.buffer }), async (workers, events) => {
    Atomics.store(word, 0, 2);
    workers.apply([], NO_VERSION);
    await until(async () => Atomics.load(word, 0) === 0 && (await counted(workers)).threads === 1);
    assert.equal(events.filter(({ error }) => error === "the port is taken").length, 2);
  });
});

test("a worker that cannot start ends the others, and is an error", () => {
  const settings = { files: [], port: 0, handle: {} } as unknown as WorkerSettings;
  return assert.rejects(
    startWorkers({ size: 2, settings: () => settings, links }),
    /Cannot attach a shared store/,
  );
});
