import assert from "node:assert/strict";
import { test } from "node:test";

import type { RuleDocument } from "../../../adapters/rules.ts";
import { crew } from "../../../adapters/serve/crew.ts";
import type { WorkerSettings } from "../../../adapters/serve/messages.ts";

test("a worker that dies is started again, with the rules of that time", async () => {
  const events: string[] = [];
  let documents: readonly RuleDocument[] = [];
  let restarted = () => {};
  const team = await crew({
    size: 2,
    program: new URL("./support/mortal_worker.ts", import.meta.url),
    restartAfter: 10,
    settings: (port) => {
      if (events.length > 0) restarted();
      return { documents, port } as unknown as WorkerSettings;
    },
    answer: () => Promise.resolve(undefined),
    log: ({ event }) => events.push(event),
  });
  const started = () => new Promise<void>((resolve) => restarted = resolve);
  try {
    assert.equal(team.port, 4_242);
    assert.deepEqual(await team.figures() as unknown[], [0, 0]);
    documents = [{ name: "a", data: {} }];
    const again = started();
    team.apply(documents);
    await again;
    // Both have died and are back once both answer.
    let answers: readonly unknown[] = [];
    while (answers.length < 2) answers = await team.figures();
    assert.deepEqual(answers, [1, 1]);
    assert.equal(events.filter((event) => event === "worker-ended").length, 2);
  } finally {
    await team.stop(100);
  }
  assert.deepEqual(await team.figures(), []);
});

test("a worker that cannot be started again is tried once more, until it can", async () => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const errors: unknown[] = [];
  const team = await crew({
    size: 1,
    program: new URL("./support/failing_worker.ts", import.meta.url),
    restartAfter: 10,
    settings: () => ({ shared: word.buffer }) as unknown as WorkerSettings,
    answer: () => Promise.resolve(undefined),
    log: ({ event, error }) => event === "worker-error" && errors.push(error),
  });
  try {
    Atomics.store(word, 0, 2);
    team.apply([]);
    let answers: readonly unknown[] = [];
    while (Atomics.load(word, 0) > 0 || answers.length < 1) answers = await team.figures();
    assert.deepEqual(answers, [1]);
    assert.equal(errors.filter((error) => error === "the port is taken").length, 2);
  } finally {
    await team.stop(100);
  }
});

test("a worker that cannot start ends the others, and is an error", async () => {
  const settings = { documents: [], port: 0, store: { handle: {} } } as unknown as WorkerSettings;
  await assert.rejects(
    crew({
      size: 2,
      settings: () => settings,
      answer: () => Promise.resolve(undefined),
      log: () => {},
    }),
  );
});
