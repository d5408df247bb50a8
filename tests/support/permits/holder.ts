/*
 * A process or a thread that holds permits. Started by tests/stores/permits.test.ts.
 */
import { hold, withPermit } from "../../../mod.ts";
import process from "node:process";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

import { lease } from "../../../stores/layered/layered.ts";
import { openStore, type Place } from "../open_store.ts";
import { jobsOn, LANES, LIMIT } from "./jobs.ts";
import { enterBy } from "./resource.ts";

/** A holder's task. */
export interface HolderTask {
  readonly place: Place;
  /** Whether it gives out permits of a share. */
  readonly hasShares: boolean;
  /** The port of the resource. */
  readonly port: number;
  /** Permits held one after the other in each lane. If it is 0, a permit is never released. */
  readonly holds: number;
}

async function work({ place, hasShares, port, holds }: HolderTask): Promise<void> {
  const opened = await openStore(place);
  const store = hasShares ? lease(opened.store, { units: 2, ttl: 5 }) : opened.store;
  const jobs = jobsOn(store);
  const entrance = await enterBy(port);
  if (holds === 0) {
    const { permit } = await hold(jobs, "key", { cost: LIMIT });
    if (permit === undefined) throw new Error("no permit was free");
    await entrance.enter();
    return await new Promise<void>((resolve) => parentPort?.once("message", () => resolve()));
  }
  await Promise.all(Array.from({ length: LANES }, async () => {
    for (let held = 0; held < holds; held++) {
      await withPermit(jobs, "key", async (signal) => {
        await entrance.enter();
        await new Promise((resolve) => setTimeout(resolve, 1));
        signal.throwIfAborted();
        await entrance.leave();
      }, { maxWait: "1m" });
    }
  }));
  entrance.close();
  await store.close();
}

await work(isMainThread ? JSON.parse(process.argv[2]!) as HolderTask : workerData as HolderTask);
// Calls that still wait for an answer must not keep the process alive.
process.exit();
