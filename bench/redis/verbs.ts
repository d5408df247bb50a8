/*
 * The cost of each verb on Redis beside `consume`, by each way to commit: one process, keys by Zipf's
 * law. Round trips and conflicts are counted by the store, and say the same on a busy machine.
 *
 * Callers of `acquire` take turns at a key, so a popular key has one call in a batch; the last rows show
 * it beside `consume` on keys that hardly meet.
 */

import { createClient } from "redis";

import {
  acquire,
  type AsyncLimiter,
  concurrency,
  consumeAll,
  fixedWindow,
  gcra,
  hold,
  limiter,
  reservable,
  reserve,
  settle,
} from "../../mod.ts";
import { type RedisStore, redisStore } from "../../stores/redis/redis_store.ts";
import { median } from "../measure.ts";
import { load, type Run, uniform, zipf } from "./load.ts";
import type { Server } from "./server.ts";

const COMMITS = ["script", "cas", "watch"] as const;
const IN_FLIGHT = 64;
const KEYS = 10_000;
/** The open receipts of a key that has some. */
const OPEN = 8;
const WIDE = { limit: 100_000_000, period: 3_600_000 } as const;
const BUCKET = { ...WIDE, burst: 100_000_000 } as const;

/** The end of the name of a row on keys that hardly meet. */
const ALIKE = ", 200,000 keys alike";

/** One call, by the name of its verb. */
async function callsOn(
  store: RedisStore,
): Promise<Readonly<Record<string, (key: string) => Promise<unknown>>>> {
  const one: AsyncLimiter = limiter(gcra(BUCKET), { store, prefix: "one" });
  const other = limiter(fixedWindow(WIDE), { store, prefix: "other" });
  const settled = limiter(reservable(gcra(BUCKET)), { store, prefix: "settled" });
  const open = limiter(reservable(gcra(BUCKET), { within: "1d" }), { store, prefix: "open" });
  for (let receipt = 0; receipt < OPEN; receipt++) {
    for (let first = 0; first < KEYS; first += 500) {
      const keys = Array.from({ length: 500 }, (_, index) => `zipf:${first + index}`);
      await Promise.all(keys.map((key) => reserve(open, key)));
    }
  }
  const jobs = limiter(concurrency({ limit: 1_000, ttl: "1h" }), { store, prefix: "jobs" });
  return {
    consume: (key) => one.consume(key),
    peek: (key) => one.peek(key),
    refund: (key) => one.refund(key),
    charge: (key) => one.charge(key),
    acquire: (key) => acquire(one, key),
    reset: (key) => one.reset(key),
    "consumeAll of two": (key) => consumeAll([{ limiter: one, key }, { limiter: other, key }]),
    "consume, reservable": (key) => settled.consume(key),
    "reserve and settle": async (key) => {
      const { receipt } = await reserve(settled, key, 2);
      return await settle(settled, key, receipt!, 1);
    },
    "consume, 8 open": (key) => open.consume(key),
    "hold and release": async (key) => (await hold(jobs, key)).permit?.release(),
    [`consume${ALIKE}`]: (key) => one.consume(key),
    [`acquire${ALIKE}`]: (key) => acquire(one, key),
  };
}

interface Figures extends Run {
  readonly conflicts: number;
}

/** Prints a table for each way to commit. */
export async function verbsOnRedis(
  server: Server,
  rounds: number,
  milliseconds: number,
): Promise<void> {
  for (const commit of COMMITS) {
    const store = redisStore(createClient({ url: server.url }), { commit, deadline: 5_000 });
    const calls = await callsOn(store);
    const all = new Map<string, Figures[]>(Object.keys(calls).map((name) => [name, []]));
    for (let round = -1; round < rounds; round++) {
      for (const [name, call] of Object.entries(calls)) {
        const before = store.statistics();
        const contestant = {
          consume: (key: string) => call(key).then(() => true),
          roundTrips: () => store.statistics().roundTrips,
          close: () => store.close(),
        };
        const keys = name.endsWith(ALIKE) ? uniform(200_000) : zipf(KEYS);
        const run = await load(contestant, IN_FLIGHT, milliseconds, keys);
        const conflicts = store.statistics().conflicts - before.conflicts;
        if (round >= 0) all.get(name)!.push({ ...run, conflicts });
      }
    }
    await store.close();
    show(commit, all);
  }
}

function show(commit: string, all: ReadonlyMap<string, readonly Figures[]>): void {
  const middle = (name: string, of: (figures: Figures) => number) => median(all.get(name)!.map(of));
  const client = (name: string) => middle(name, (run) => run.client * 1e6 / run.decisions);
  const trips = (name: string) => middle(name, (run) => run.roundTrips / run.decisions);
  const base = (name: string) => name.endsWith(ALIKE) ? `consume${ALIKE}` : "consume";
  console.log(`\nVerbs by ${commit}, 10,000 Zipf keys, ${IN_FLIGHT} in flight`);
  console.table(Object.fromEntries([...all.keys()].map((name) => [name, {
    "calls/s": Math.round(middle(name, (run) => run.decisions / run.seconds)),
    "client us": client(name).toFixed(1),
    "times consume": (client(name) / client(base(name))).toFixed(2),
    "round trips": trips(name).toFixed(3),
    "times its": (trips(name) / trips(base(name))).toFixed(2),
    "conflicts": middle(name, ({ conflicts }) => conflicts),
  }])));
}
