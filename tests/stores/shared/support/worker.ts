import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";
import { type Job, type Work, worker } from "./jobs.ts";

const run = worker(workerData as Work);

parentPort!.on("message", (job: Job) => parentPort!.postMessage(run(job)));
parentPort!.postMessage("ready");
process.on("uncaughtException", (error) => {
  console.error(error);
  process.exit(1);
});
