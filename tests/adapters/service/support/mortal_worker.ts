/*
 * A worker for the test of the pool: it says that it listens, and dies of the first rules that it is
 * given. How many files it was started with, it answers as the status of a call.
 */
import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";

import { figures } from "../../../../adapters/service/metrics/figures.ts";
import { portCalls } from "../../../../adapters/service/threads/port_calls.ts";
import type { MainCalls } from "../../../../adapters/service/threads/worker_calls.ts";

const counted = figures();
counted.call("files", workerData.files.length, 0);
const main = portCalls<MainCalls>(parentPort!, () => ({
  apply: () =>
    process.nextTick(() => {
      throw new Error("no taste for rules");
    }),
  figures: () => counted.snapshot(),
  stop() {},
}));
void main("listening", { port: 4_242, grpcPort: undefined });
