import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";
import { type Job, type Work, worker } from "./jobs.ts";

const run = worker(workerData as Work);

parentPort!.on("message", async (job: Job) => parentPort!.postMessage(await run(job)));
parentPort!.postMessage("ready");
process.on("uncaughtException", (error) => {
  console.error(error);
  process.exit(1);
});
