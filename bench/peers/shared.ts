/*
 * Decisions of worker threads on common keys: a second, in millions, on one thread and on two.
 *
 * governor, a limiter for Rust's threads, is not here: its crate cannot be had from npm or Debian.
 */
import { Worker } from "node:worker_threads";

import { sharedStore } from "../../stores/shared/shared_store.ts";
import { median } from "../measure.ts";
import { lengthOf } from "./locked_map.ts";
import type { Row } from "./results.ts";
import { CONTESTANTS, type Given, type Load, SLOTS } from "./shared_thread.ts";

const CASES = [
  ["one key, 1 thread", "hot", 1],
  ["one key, 2 threads", "hot", 2],
  ["10,000 keys, 1 thread", "many", 1],
  ["10,000 keys, 2 threads", "many", 2],
] as const;

/** Millions of admitted decisions a second, of all threads together. */
export async function sharedRows(isShort: boolean): Promise<Row[]> {
  const milliseconds = isShort ? 60 : 250;
  const rounds = isShort ? 3 : 9;
  const given: Given = {
    handle: sharedStore({ capacity: 100_000 }).handle,
    table: new SharedArrayBuffer(lengthOf(SLOTS)),
    flags: new Int32Array(new SharedArrayBuffer(16)),
  };
  const workers = await Promise.all([0, 1].map(async () => {
    const worker = new Worker(new URL("./shared_thread.ts", import.meta.url), {
      workerData: given,
    });
    await answerOf(worker);
    return worker;
  }));

  async function rate(load: Load, threads: number): Promise<number> {
    Atomics.store(given.flags, 0, threads);
    const rates = workers.slice(0, threads).map((worker) => {
      worker.postMessage(load);
      return answerOf(worker);
    });
    return (await Promise.all(rates)).reduce((a, b) => a + b) / 1e6;
  }

  const figures = CONTESTANTS.map(() => CASES.map((): number[] => []));
  for (let round = -1; round < rounds; round++) {
    for (const [index, [, keys, threads]] of CASES.entries()) {
      for (const [row, { name }] of CONTESTANTS.entries()) {
        const figure = await rate({ name, keys, milliseconds }, threads);
        if (round >= 0) figures[row]![index]!.push(figure);
      }
    }
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
  return CONTESTANTS.map(({ name, note }, row) => ({
    name,
    version: null,
    note,
    values: Object.fromEntries(
      CASES.map(([title], index) => [title, median(figures[row]![index]!)]),
    ),
  }));
}

function answerOf(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once("message", (figure) => {
      worker.off("error", reject);
      resolve(figure);
    });
    worker.once("error", reject);
  });
}
