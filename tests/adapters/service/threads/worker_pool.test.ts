import assert from "node:assert/strict";
import { test } from "node:test";

import type { RuleFile } from "../../../../adapters/rules/rules.ts";
import { startWorkers, type WorkerPool } from "../../../../adapters/service/threads/worker_pool.ts";
import {
  addFigures,
  type FiguresSnapshot,
} from "../../../../adapters/service/metrics/figures_snapshot.ts";
import type { WorkerSettings } from "../../../../adapters/service/threads/worker_calls.ts";

const answers = {
  figures: () => Promise.resolve(addFigures([])),
  live: () => Promise.reject(new Error("no page")),
  limits: () => Promise.resolve(undefined),
};

/** The figures of all, asked for in a turn of the event loop of its own, or timers would starve. */
async function figuresOf(team: WorkerPool): Promise<FiguresSnapshot> {
  await new Promise((resolve) => setTimeout(resolve, 1));
  return addFigures(await team.figures());
}

test("a worker that dies is started again, with the rules of that time", async () => {
  const events: string[] = [];
  let files: readonly RuleFile[] = [];
  let restarted = () => {};
  let restarts = 0;
  const team = await startWorkers({
    size: 2,
    onRestart: () => restarts++,
    program: new URL("../support/mortal_worker.ts", import.meta.url),
    restartAfter: 10,
    settings: (port) => {
      if (events.length > 0) restarted();
      return { files, port } as unknown as WorkerSettings;
    },
    answers,
    log: ({ event }) => events.push(event),
  });
  const started = () => new Promise<void>((resolve) => restarted = resolve);
  const figures = async () => {
    const { calls, threads } = await figuresOf(team);
    return { calls, threads };
  };
  try {
    assert.equal(team.ports.port, 4_242);
    assert.deepEqual(await figures(), { calls: { "files 0": 2 }, threads: 2 });
    files = [{ domain: "a", rules: [] }];
    const again = started();
    team.apply(files);
    await again;
    // Both have died and are back once both answer.
    while ((await figures()).threads < 2);
    // What the dead had counted is not lost: no sum grows smaller.
    const calls = { "files 0": 2, "files 1": 2 };
    assert.deepEqual(await figures(), { calls, threads: 2 });
    assert.equal(events.filter((event) => event === "worker-ended").length, 2);
    assert.equal(restarts, 2);
  } finally {
    await team.stop(100);
  }
  assert.equal((await figures()).threads, 0);
});

test("a worker that cannot be started again is tried once more, until it can", async () => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const errors: unknown[] = [];
  const team = await startWorkers({
    size: 1,
    program: new URL("../support/failing_worker.ts", import.meta.url),
    restartAfter: 10,
    settings: () => ({ shared: word.buffer }) as unknown as WorkerSettings,
    answers,
    log: ({ event, error }) => event === "worker-error" && errors.push(error),
  });
  try {
    Atomics.store(word, 0, 2);
    team.apply([]);
    let threads = 0;
    while (Atomics.load(word, 0) > 0 || threads < 1) {
      threads = (await figuresOf(team)).threads;
    }
    assert.equal(errors.filter((error) => error === "the port is taken").length, 2);
  } finally {
    await team.stop(100);
  }
});

test("a worker that cannot start ends the others, and is an error", async () => {
  const settings = { files: [], port: 0, store: { handle: {} } } as unknown as WorkerSettings;
  await assert.rejects(
    startWorkers({
      size: 2,
      settings: () => settings,
      answers,
      log: () => {},
    }),
  );
});
