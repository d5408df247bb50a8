import assert from "node:assert/strict";
import { test } from "node:test";
import type { Worker } from "node:worker_threads";
import type { Limiter } from "../../../mod.ts";
import { type SharedStore, sharedStore } from "../../../stores/shared/shared_store.ts";
import { audit, untilQuiet } from "./support/audit.ts";
import { startWorkers, type WorkerPool } from "./support/workers.ts";
import type { Job } from "./support/jobs.ts";
import { limiterOn, NOW } from "./support/limiter_on.ts";
import { isLong } from "../../support/seed.ts";
import { names, policy } from "../../support/policies.ts";

/** Workers killed in each test; each had begun to work. */
const KILLS = isLong() ? 200 : 4;
const TOGETHER = 4;
/** Far more than can be taken, so that every unit taken can be counted from the state. */
const LIMIT = 50_000_000;
/** The longest that any call of the survivor may take: a scheduler's pauses, and no more. */
const LONGEST_CALL = 1_500;

/** A log holds no more than its arena has room for, and leaky queues count whole intervals. */
const counted = names.filter((name) => name !== "slidingLog");

test(
  `${KILLS} workers killed in mid-call lose no use, admit nothing twice and stop nobody`,
  async () => {
    const store = sharedStore({ capacity: 5_000, threads: KILLS + 50 });
    const workers = await startWorkers(store, 0);
    const limiters = limitersOf(store, workers, counted, LIMIT);
    const own = counted.map(() => 0);
    await killAll(workers, { kind: "forever", limit: LIMIT, names: counted }, () => {
      limiters.forEach((each, index) => {
        if (each.consume("hot").allowed) own[index]!++;
      });
    });
    limiters.forEach((each, index) => {
      // On Deno some killed threads may still run: they count units after they have taken them.
      const countedBefore = Atomics.load(workers.counts, index) + own[index]!;
      const { capacity } = each.algorithm;
      const used = capacity - each.peek("hot", 0).remaining;
      const countedAfter = Atomics.load(workers.counts, index) + own[index]!;
      assert.ok(
        used >= countedBefore,
        `${counted[index]}: ${used} used, ${countedBefore} admitted`,
      );
      assert.ok(
        used <= countedAfter + KILLS,
        `${counted[index]}: ${used} used, ${countedAfter} counted`,
      );
    });
    // A dead thread's batch has taken from both keys or from neither.
    const [gcra] = limiters as [Limiter];
    if (!("Deno" in globalThis)) {
      const [one, two] = ["pair one", "pair two"].map((key) => gcra.peek(key, 0).remaining);
      assert.equal(one, two);
    }
    assert.equal(store.statistics(0).evictions, 0);
    await checkLost(store);
    store.close();
  },
);

test(
  `${KILLS} workers killed on a store without room leave each block and node in one place`,
  async () => {
    const capacity = 60;
    const store = sharedStore({ capacity, threads: KILLS + 50, maxBytes: 128 * 2_000 });
    const workers = await startWorkers(store, 0);
    const [one] = limitersOf(store, workers, names, 50) as [Limiter];
    const job = { kind: "churn", limit: 50, names, keys: 100, calls: Infinity } as const;
    await killAll(workers, job, () => void one.consume(`key ${Math.floor(Math.random() * 100)}`));
    await checkLost(store);
    // A thread that dies between filling a slot and counting its key leaves a key too many.
    const most = capacity + KILLS;
    assert.ok(store.statistics(0).keys <= most);
    for (let key = 0; key < 1_000; key++) one.consume(`new ${key}`);
    const { keys } = store.statistics(0);
    assert.ok(keys >= capacity - KILLS && keys <= most, `${keys} keys`);
    await checkLost(store);
    store.close();
  },
);

/** Only threads that were killed in a call lose memory, and no more than the documents say. */
async function checkLost(store: SharedStore): Promise<void> {
  await untilQuiet(store.handle);
  const { uncounted, blocks, nodes, records } = audit(store.handle);
  assert.ok(records <= KILLS, `${records} records`);
  assert.ok(uncounted >= 0 && uncounted <= records, `${uncounted} keys, ${records} records`);
  assert.ok(blocks <= 144 * records, `${blocks} blocks, ${records} records`);
  assert.ok(nodes <= 1_000 * records, `${nodes} nodes, ${records} records`);
}

function limitersOf(
  store: SharedStore,
  { flags }: WorkerPool,
  policies: readonly string[],
  limit: number,
): Limiter[] {
  const clock = () => NOW + flags[2]!;
  return policies.map((name) => limiterOn(store, policy(name, limit), clock));
}

/** Kills workers one by one while they work, and works itself; no call of its own may take long. */
async function killAll(
  workers: WorkerPool,
  job: Job,
  work: () => void,
): Promise<void> {
  let longest = 0;
  function workFor(milliseconds: number): void {
    const end = performance.now() + milliseconds;
    for (let now = performance.now(); now < end;) {
      work();
      const then = performance.now();
      longest = Math.max(longest, then - now);
      now = then;
    }
  }

  for (let killed = 0; killed < KILLS; killed += TOGETHER) {
    const alive: Worker[] = [];
    try {
      for (let index = 0; index < TOGETHER; index++) alive.push(await workers.start());
      workers.flags[4] = 0;
      for (const worker of alive) worker.postMessage(job);
      workFor(8);
      for (const worker of alive) {
        const gone = worker.terminate();
        workFor(Math.random() * 4);
        await gone;
      }
      workFor(10);
    } finally {
      // On Deno threads run on for seconds after they were terminated.
      Atomics.store(workers.flags, 4, 1);
      await Promise.all(alive.map((worker) => worker.terminate()));
    }
  }
  assert.ok(longest < LONGEST_CALL, `a turn took ${longest} ms`);
}
