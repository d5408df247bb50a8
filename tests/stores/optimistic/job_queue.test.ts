import assert from "node:assert/strict";
import { test } from "node:test";

import type { Job } from "../../../stores/optimistic/job.ts";
import { type KeySpace, namesOf } from "../../../stores/stepping/call.ts";
import {
  drainBatch,
  enqueue,
  type JobQueue,
  jobQueue,
} from "../../../stores/optimistic/job_queue.ts";

const SPACE: KeySpace = { text: "", nameOf: (key) => key };

/** A call on keys of the slot 1. */
function jobOn(keys: readonly string[], alone: boolean): Job {
  const several = keys.length > 1
    ? { parts: [], keys: keys.map((key) => ({ space: SPACE, key })), isSingle: false }
    : undefined;
  return { space: SPACE, key: keys[0]!, slot: 1, several, alone } as Job;
}

/** The keys of each call, by batch. */
function batchesOf(queue: JobQueue, mode: true | false): readonly (readonly string[])[] {
  const batches: string[][] = [];
  while (queue.size > 0) {
    batches.push(drainBatch(queue, mode).batch.jobs.map((job) => namesOf(job).join("+")));
  }
  return batches;
}

for (const mode of [true, false] as const) {
  test(`calls of one slot share a batch but for those that go alone, by ${mode}`, () => {
    const queue = jobQueue();
    const calls = [
      [["a"], false],
      [["b"], false],
      [["b"], true],
      [["b"], true],
      [["b"], false],
      [["a", "b"], true],
      [["a", "c"], false],
    ] as const;
    for (const [keys, alone] of calls) enqueue(queue, jobOn(keys, alone));
    assert.deepEqual(batchesOf(queue, mode), [["a", "b"], ["b", "b", "b"], ["a+b"], ["a+c"]]);
  });
}

test("a slot of which a batch takes nothing keeps its place, and the rest of one goes last", () => {
  for (const [count, second] of [[128, "d+e"], [130, "d+e+128+129"]] as const) {
    const queue = jobQueue();
    const add = (key: string, slot: number) =>
      enqueue(queue, { ...jobOn([key], false), several: undefined, slot });
    for (let key = 0; key < count; key++) add(`${key}`, 1);
    add("d", 2);
    add("e", 3);
    assert.equal(drainBatch(queue, false).batch.jobs.length, 128);
    assert.equal(drainBatch(queue, false).batch.jobs.map(({ key }) => key).join("+"), second);
  }
});
