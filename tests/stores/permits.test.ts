/*
 * Permits of processes and threads: those of the dead are free within one ttl, and together all hold
 * no more than the limit, counted at what the permits protect.
 */

import { hold } from "../../mod.ts";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";

import { sharedStore } from "../../stores/shared/shared_store.ts";
import { inFolder } from "../support/in_folder.ts";
import type { HolderTask } from "../support/permits/holder.ts";
import { jobsOn, LANES, LIMIT, type Place, storeAt, TTL } from "../support/permits/jobs.ts";
import { openResource, type Resource } from "../support/permits/resource.ts";
import { drawn, isLong } from "../support/seed.ts";
import { startRedis } from "../support/redis/redis_process.ts";

/** Permits that each lane of a holder has, one after the other. */
const HOLDS = isLong() ? 250 : 4;

const HOLDER = new URL("../support/permits/holder.ts", import.meta.url);

/** A process or thread that holds permits. */
interface Holder {
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  /** Ends it as it is: a process by SIGKILL; a thread ends of its own accord and releases nothing. */
  die(): Promise<void>;
}

function startProcess(task: HolderTask): Holder {
  const before = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const child = spawn(process.execPath, [...before, HOLDER.pathname, JSON.stringify(task)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  return {
    ended,
    die() {
      process.kill(child.pid!, "SIGKILL");
      return ended;
    },
  };
}

function startThread(task: HolderTask): Holder {
  const worker = new Worker(HOLDER, { workerData: task });
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  return {
    ended,
    die() {
      worker.postMessage("end");
      return ended;
    },
  };
}

const PLACES: Readonly<Record<Place["kind"], (use: (place: Place) => Promise<void>) => unknown>> = {
  async redis(use) {
    const server = await startRedis();
    await use({ kind: "redis", url: server.url }).finally(() => server.stop());
  },
  sqlite: (use) => inFolder((folder) => use({ kind: "sqlite", path: join(folder, "jobs.db") })),
  async shared(use) {
    const store = sharedStore({ capacity: 100, threads: 16 });
    await use({ kind: "shared", handle: store.handle }).finally(() => store.close());
  },
};
const kinds = Object.keys(PLACES) as Place["kind"][];

for (const kind of drawn(kinds)) {
  describe(`${kind}: permits of ${kind === "shared" ? "threads" : "processes"}`, () => {
    test("that have died are free within one ttl", () => at(kind, dead, 1));
    test("are never more than the limit", () => at(kind, busy, LIMIT));
    test("that have shares and have died are free within one ttl", () =>
      at(kind, withShares(dead), 1));
    test("that have shares are never more than the limit", () => at(kind, withShares(busy), LIMIT));
  });
}

/** Runs a test at a place, with the resource that its permits protect. */
async function at(
  kind: Place["kind"],
  run: (place: Place, resource: Resource) => Promise<void>,
  gather: number,
): Promise<void> {
  const resource = await openResource(gather);
  try {
    await PLACES[kind]((place) => run(place, resource));
  } finally {
    await resource.close();
  }
}

/** The same with holders that give out permits of their shares. */
function withShares(run: typeof busy): typeof busy {
  return (place, resource) => run({ ...place, hasShares: true }, resource);
}

function start(task: HolderTask): Holder {
  return task.place.kind === "shared" ? startThread(task) : startProcess(task);
}

async function dead(place: Place, resource: Resource): Promise<void> {
  const holder = start({ place, port: resource.port, holds: 0 });
  await using store = storeAt(place);
  await resource.seen(1);
  const jobs = jobsOn(store);
  await renewal(() => jobs.peek("key", 0));
  await holder.die();
  const { decision } = await hold(jobs, "key");
  assert.ok(!decision.allowed && decision.retryAfter <= TTL, JSON.stringify(decision));
  const later = jobsOn(store, TTL);
  assert.equal((await later.peek("key", 0)).remaining, LIMIT);
  assert.equal((await hold(later, "key", { cost: LIMIT })).decision.allowed, true);
}

async function busy(place: Place, resource: Resource): Promise<void> {
  const count = place.kind === "shared" ? 2 : 3;
  const task = { place, port: resource.port, holds: HOLDS };
  const holders = Array.from({ length: count }, () => start(task));
  if (place.kind !== "shared") {
    await resource.seen(2 * LIMIT);
    await holders.pop()!.die();
  }
  await Promise.all(holders.map(({ ended }) => ended));
  assert.equal(resource.most, LIMIT);
  assert.ok(resource.entries >= holders.length * LANES * HOLDS, `${resource.entries} entries`);
  await using store = storeAt(place);
  assert.equal((await jobsOn(store, TTL).peek("key", 0)).remaining, LIMIT);
}

/** Resolves when a permit of the key has been renewed. */
async function renewal(look: () => Promise<{ readonly resetAfter: number }>): Promise<void> {
  let before = (await look()).resetAfter;
  for (;;) {
    const { resetAfter } = await look();
    if (resetAfter > before) return;
    before = resetAfter;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
