/*
 * Receipts of processes and threads that share keys: what all of them took and have not given back is
 * what the store holds, to the unit, and never more than the limit; and no receipt gives back twice.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";

import { sharedStore } from "../../stores/shared/shared_store.ts";
import { inFolder } from "../support/in_folder.ts";
import { type Place, storeAt } from "../support/permits/jobs.ts";
import {
  type SettlerReport,
  type SettlerTask,
  sharedLimiters,
} from "../support/receipts/settler.ts";
import { startRedis } from "../support/redis/redis_process.ts";
import { inShare, isLong } from "../support/seed.ts";

/** Reservations of each process or thread on each key. */
const ROUNDS = isLong() ? 2_000 : 25;
const SETTLER = new URL("../support/receipts/settler.ts", import.meta.url);

async function runProcess(task: SettlerTask): Promise<SettlerReport> {
  const before = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const child = spawn(process.execPath, [...before, SETTLER.pathname, JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => text += chunk);
  await new Promise<void>((resolve) => child.on("close", () => resolve()));
  return JSON.parse(text) as SettlerReport;
}

function runThread(task: SettlerTask): Promise<SettlerReport> {
  const worker = new Worker(SETTLER, { workerData: task });
  return new Promise((resolve, reject) => {
    worker.once("message", (report: SettlerReport) => {
      // On Deno a thread cannot close its own port.
      void worker.terminate();
      resolve(report);
    });
    worker.once("error", reject);
  });
}

const PLACES: Readonly<Record<Place["kind"], (use: (place: Place) => Promise<void>) => unknown>> = {
  async redis(use) {
    const server = await startRedis();
    await use({ kind: "redis", url: server.url }).finally(() => server.stop());
  },
  sqlite: (use) => inFolder((folder) => use({ kind: "sqlite", path: join(folder, "keys.db") })),
  async shared(use) {
    const store = sharedStore({ capacity: 100, threads: 16 });
    await use({ kind: "shared", handle: store.handle }).finally(() => store.close());
  },
};
const kinds = Object.keys(PLACES) as Place["kind"][];

async function settledTogether(place: Place): Promise<void> {
  const [run, count] = place.kind === "shared" ? [runThread, 2] as const : [runProcess, 4] as const;
  const reports = await Promise.all(
    Array.from({ length: count }, () => run({ place, rounds: ROUNDS })),
  );
  const store = storeAt(place);
  try {
    for (const [index, api] of sharedLimiters(store).entries()) {
      const net = reports.reduce((sum, report) => sum + report.net[index]!, 0);
      const seen = await api.peek("key", 0);
      // The receipts of an `all` answer for the part that gave back most, which is the window.
      const { remaining, limit } = seen.parts?.at(-1) ?? seen;
      assert.equal(limit - remaining, net, api.algorithm.id);
      assert.ok(net > 0 && net <= limit, `${net} of ${limit}`);
    }
    assert.equal(reports.reduce((sum, { twice }) => sum + twice, 0), 0);
  } finally {
    await store.close();
  }
}

for (const kind of kinds) {
  describe(`${kind}: receipts of ${kind === "shared" ? "threads" : "processes"}`, () => {
    test(
      "give back the taken units, exactly and once",
      inShare(kinds, kind, async () => void await PLACES[kind](settledTogether)),
    );
  });
}
