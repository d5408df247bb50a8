/*
 * A worker for the test of the pool: while the word at 0 of what it shares with the test is 0 it
 * serves, and dies when a call says so; while it is 1 it cannot start, and stays there.
 */
import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";

import { figures } from "../../../../adapters/service/metrics/figures.ts";
import { portCalls } from "../../../../adapters/service/threads/port_calls.ts";
import type { MainCalls } from "../../../../adapters/service/threads/worker_calls.ts";

const counted = figures();
counted.call("any", 200, 0);
const main = portCalls<MainCalls>(parentPort!, () => ({
  apply: () =>
    process.nextTick(() => {
      throw new Error("no taste for rules");
    }),
  figures: () => counted.snapshot(),
  stop() {},
}));
const word = new Int32Array(workerData.shared as SharedArrayBuffer);
if (Atomics.load(word, 0) === 0) void main("listening", { port: 4_242, grpcPort: undefined });
else {
  Atomics.sub(word, 0, 1);
  void main("failed", "the port is taken");
}
