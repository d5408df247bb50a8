/*
 * Permits of processes and threads: those of the dead are free within one ttl, and together all hold
 * no more than the limit, counted at what the permits protect.
 */

import { hold } from "../../mod.ts";
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";

import { openStore } from "../support/open_store.ts";
import type { HolderTask } from "../support/permits/holder.ts";
import { jobsOn, LANES, LIMIT, TTL } from "../support/permits/jobs.ts";
import { openResource, type Resource } from "../support/permits/resource.ts";
import { PLACES } from "../support/places.ts";
import { drawn, isLong, upTo } from "../support/seed.ts";
import { ended, startFile } from "../support/start_file.ts";

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
  const child = startFile("permits/holder", [JSON.stringify(task)]);
  const ends = ended(child);
  return {
    ended: ends,
    die() {
      process.kill(child.pid!, "SIGKILL");
      return ends;
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

for (const kind of drawn(["redis, script", "sqlite", "shared"])) {
  describe(`${kind}: permits of ${kind === "shared" ? "threads" : "processes"}`, () => {
    for (const hasShares of [false, true]) {
      const which = hasShares ? "that have shares" : "of single units";
      test(`${which} and have died are free within one ttl`, () => at(kind, hasShares, dead, 1));
      test(`${which} are never more than the limit`, () => at(kind, hasShares, busy, LIMIT));
    }
  });
}

/** Runs a test at a place, with the resource that its permits protect. */
async function at(
  kind: string,
  hasShares: boolean,
  run: (task: Omit<HolderTask, "holds">, resource: Resource) => Promise<void>,
  gather: number,
): Promise<void> {
  const resource = await openResource(gather);
  try {
    await PLACES[kind]!((place) => run({ place, hasShares, port: resource.port }, resource));
  } finally {
    await resource.close();
  }
}

function start(task: HolderTask): Holder {
  return task.place.kind === "shared" ? startThread(task) : startProcess(task);
}

async function dead(task: Omit<HolderTask, "holds">, resource: Resource): Promise<void> {
  const holder = start({ ...task, holds: 0 });
  await using opened = await openStore(task.place);
  await resource.seen(1);
  const jobs = jobsOn(opened.store);
  await renewal(() => jobs.peek("key", 0));
  await holder.die();
  const { decision } = await hold(jobs, "key");
  assert.ok(!decision.allowed && decision.retryAfter <= TTL, JSON.stringify(decision));
  const later = jobsOn(opened.store, TTL);
  assert.equal((await later.peek("key", 0)).remaining, LIMIT);
  assert.equal((await hold(later, "key", { cost: LIMIT })).decision.allowed, true);
}

async function busy(task: Omit<HolderTask, "holds">, resource: Resource): Promise<void> {
  const isShared = task.place.kind === "shared";
  const holders = upTo(isLong() && !isShared ? 3 : 2).map(() => start({ ...task, holds: HOLDS }));
  if (!isShared) {
    await resource.seen(2 * LIMIT);
    await holders.pop()!.die();
  }
  await Promise.all(holders.map(({ ended }) => ended));
  assert.equal(resource.most, LIMIT);
  assert.ok(resource.entries >= holders.length * LANES * HOLDS, `${resource.entries} entries`);
  await using opened = await openStore(task.place);
  assert.equal((await jobsOn(opened.store, TTL).peek("key", 0)).remaining, LIMIT);
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
