import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";

import { reportOf } from "../../../.ci/report_of.mjs";
import { openStore, type Place } from "../open_store.ts";
import { isLong } from "../seed.ts";
import { type Admitted, deployed, deployedLimiters, type Deployment } from "./deployed.ts";

const DEPLOYED = new URL("./deployed.ts", import.meta.url);
/** The limits of the processes: one is new, and the others are old. */
export const LIMITS: readonly number[] = isLong() ? [20, 40, 20] : [20, 40];
const LARGEST = Math.max(...LIMITS);
const KEYS = isLong() ? 20 : 2;

function inProcess(deployment: Deployment): Promise<Admitted> {
  return reportOf(DEPLOYED, [JSON.stringify(deployment)]);
}

async function inThread(deployment: Deployment): Promise<Admitted> {
  const worker = new Worker(DEPLOYED, { workerData: deployment });
  try {
    return await new Promise<Admitted>((resolve, reject) => {
      worker.once("error", reject);
      worker.once("message", resolve);
    });
  } finally {
    await worker.terminate();
  }
}

/** Lets processes with two limits use up the same keys at once. */
export async function deployedTogether(place: Place): Promise<void> {
  const keys = Array.from({ length: KEYS }, (_, index) => `key ${index}`);
  const start = place.kind === "shared" ? inThread : inProcess;
  const reports = await Promise.all(LIMITS.map((limit) => start({ place, limit, keys })));
  expectShared(reports);
  const { store, close } = await openStore(place);
  try {
    for (const api of deployedLimiters(store, LARGEST)) {
      for (const key of keys) assert.equal((await api.peek(key, 0)).remaining, 0);
    }
  } finally {
    await close();
  }
}

/** Together they admit the largest limit, and those with the smaller one no more than that. */
export function expectShared(reports: readonly Admitted[]): void {
  for (const [at, { id }] of deployed(LARGEST).entries()) {
    for (const key of reports[0]![at]!.keys()) {
      const each = reports.map((report) => report[at]![key]!);
      const sum = each.reduce((one, other) => one + other);
      const seen = `${id}: ${each} of ${LIMITS}`;
      // A lockout is locked by the first limit that its tries reach.
      assert.ok(id.startsWith("lockout") ? sum >= LIMITS[0]! : sum === LARGEST, seen);
      assert.ok(sum <= LARGEST && each[0]! + (each[2] ?? 0) <= LIMITS[0]!, seen);
    }
  }
}
