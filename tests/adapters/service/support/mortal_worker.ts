/*
 * A worker for the tests of the pool: it says that it listens, and dies of the first rules or the first
 * certificate that it is given. How many files it was started with, it answers as the status of a call.
 * While the word at 0 of what it shares with a test is above 0, it lowers it, and cannot start.
 */
import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";

import { figures } from "../../../../adapters/service/metrics/figures.ts";
import { portCalls } from "../../../../adapters/service/threads/port_calls.ts";
import type { MainCalls } from "../../../../adapters/service/threads/worker_pool.ts";

function die(): Promise<never> {
  process.nextTick(() => {
    throw new Error("no taste for it");
  });
  return new Promise(() => {});
}

const counted = figures();
counted.call("files", workerData.files.length, 0);
const main = portCalls<MainCalls>(parentPort!, () => ({
  apply: die,
  secure: die,
  figures: () => counted.snapshot(),
  stop() {},
}));
const word = new Int32Array(workerData.shared ?? new SharedArrayBuffer(4));
if (Atomics.load(word, 0) === 0) void main("listening", { port: 4_242, grpcPort: undefined });
else {
  Atomics.sub(word, 0, 1);
  void main("failed", "the port is taken");
}
