/*
 * Worker threads of a test on one shared store, which do the jobs of `jobs.ts` at the same time.
 */

import { Worker } from "node:worker_threads";
import type { SharedStore } from "../../../../stores/shared/shared_store.ts";
import type { Job, Work } from "./jobs.ts";

/** Worker threads on one store. */
export interface WorkerPool {
  readonly flags: Int32Array;
  readonly counts: Int32Array;
  /** Gives the first `size` workers one job each, to begin together. Returns their answers. */
  run<Answer>(size: number, job: (index: number) => Job): Promise<Answer[]>;
  /** Has the first `size` workers use another store from now on. */
  attach(size: number, store: SharedStore): Promise<void>;
  /** Starts one more worker; resolves once it is ready. */
  start(): Promise<Worker>;
  stop(): Promise<void>;
}

/** Starts that many workers on a store. */
export async function startWorkers(store: SharedStore, size: number): Promise<WorkerPool> {
  const shared = new SharedArrayBuffer(64);
  const counts = new SharedArrayBuffer(1_024);
  const flags = new Int32Array(shared);
  const work: Work = { handle: store.handle, shared, counts };

  async function start(): Promise<Worker> {
    const started = new Worker(new URL("./worker.ts", import.meta.url), { workerData: work });
    await answerOf(started);
    return started;
  }

  const workers = await Promise.all(Array.from({ length: size }, start));
  async function run<Answer>(count: number, job: (index: number) => Job): Promise<Answer[]> {
    Atomics.store(flags, 0, count);
    const answers = workers.slice(0, count).map((worker, index) => {
      const answer = answerOf(worker);
      worker.postMessage(job(index));
      return answer as Promise<Answer>;
    });
    return await Promise.all(answers);
  }

  return {
    flags,
    counts: new Int32Array(counts),
    start,
    run,
    async attach(count, { handle }) {
      await run(count, () => ({ kind: "attach", handle }));
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

function answerOf(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    function stop() {
      worker.off("message", onMessage);
      worker.off("error", onError);
    }
    function onMessage(answer: unknown) {
      stop();
      resolve(answer);
    }
    function onError(error: unknown) {
      stop();
      reject(error);
    }
    worker.on("message", onMessage);
    worker.on("error", onError);
  });
}
