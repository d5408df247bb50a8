/*
 * The cost of a decision on the memory store, clock included: every algorithm, at 1, 10 thousand
 * and 1 million keys, with reused and with fresh key strings, admitted and refused, beside a bare
 * `Map.get` and a GCRA written by hand; keys of unequal popularity beside a map that counts; the
 * memory that a key takes, and the longest call.
 *
 * The flaw: one process, so a call site that has seen nine algorithms is measured after one that
 * has seen one. The first table therefore has gcra alone (as in a server with one kind of limit),
 * the last one gcra again after all the others. Fresh strings include making them, for all variants
 * alike.
 */

import process from "node:process";

import {
  type Algorithm,
  all,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  limiter,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../mod.ts";
import { handWrittenGcra } from "./hand_written.ts";
import { keysOf, popularKeys } from "./popular_keys.ts";
import { verbs } from "./verbs.ts";
import { bytesInUse, compare, finish, row, runtime, type Variant } from "./measure.ts";

interface Consumer {
  consume(key: string): { readonly remaining: number };
}

const SHORT = process.argv.includes("--short");
const OPERATIONS = SHORT ? 50_000 : 400_000;
const ROUNDS = SHORT ? 3 : 7;

function reused(keys: readonly string[], consumer: Consumer): Variant {
  let index = 0;
  return (operations) => {
    let sum = 0;
    for (let i = 0; i < operations; i++) {
      sum += consumer.consume(keys[index]!).remaining;
      if (++index === keys.length) index = 0;
    }
    return sum;
  };
}

function fresh(count: number, consumer: Consumer): Variant {
  let index = 0;
  return (operations) => {
    let sum = 0;
    for (let i = 0; i < operations; i++) {
      index = (index + 7_919) % count;
      sum += consumer.consume(`user:${1_000_000 + index}`).remaining;
    }
    return sum;
  };
}

function bareMap(keys: readonly string[]): Consumer {
  const cells = new Map(keys.map((key) => [key, { remaining: 1 }]));
  const none = { remaining: 0 };
  return { consume: (key) => cells.get(key) ?? none };
}

const ADMITTED = { limit: 1_000_000, period: 1_000, burst: 1_000_000 };
const REFUSED = { limit: 1, period: 3_600_000, burst: 1 };

function headline(title: string): void {
  console.log(`\n${title}: ns per decision, and times that of the one written by hand`);
  console.log(row("", ["Map.get", "by hand", "tidegate", "ratio"]));
  for (const [verdict, rate] of [["admitted", ADMITTED], ["refused", REFUSED]] as const) {
    for (const count of [1, 10_000, 1_000_000]) {
      const keys = keysOf(count);
      const operations = count === 1_000_000 ? Math.max(OPERATIONS, count) : OPERATIONS;
      for (const strings of ["reused", "fresh"] as const) {
        const variant = (consumer: Consumer) =>
          strings === "reused" ? reused(keys, consumer) : fresh(count, consumer);
        const figures = compare(
          {
            map: variant(bareMap(keys)),
            hand: variant(handWrittenGcra(rate.limit, rate.period, rate.burst)),
            ours: variant(limiter(gcra(rate), { store: memoryStore(), prefix: "bench" })),
          },
          operations,
          ROUNDS,
        );
        const ratio = `${(figures.ours / figures.hand).toFixed(2)}x`;
        const name = `${verdict}, ${count} keys, ${strings} strings`;
        console.log(row(name, [figures.map, figures.hand, figures.ours, ratio]));
      }
    }
  }
}

const ALGORITHMS: readonly ((rate: typeof ADMITTED) => Algorithm)[] = [
  gcra,
  ({ limit, period }) => fixedWindow({ limit, period }),
  ({ limit, period }) => fixedWindow({ limit, period, anchor: "first" }),
  ({ limit, period }) => slidingLog({ limit, period }),
  ({ limit, period }) => slidingCounter({ limit, period }),
  ({ limit, period }) => slidingWindow({ limit, period, precision: period / 50 }),
  tokenBucket,
  (rate) => tokenBucket({ ...rate, limit: Math.min(rate.limit, 100_000), refill: "interval" }),
  leakyBucket,
  ({ limit, period, burst }) => leakyQueue({ limit, period, queue: burst - 1 }),
  (rate) => all(gcra(rate), fixedWindow({ limit: rate.limit, period: rate.period * 2 })),
];

function table(): void {
  console.log("\nEvery algorithm: ns per decision, reused strings, admitted / refused");
  console.log(row("", ["1 key", "10k keys", "1M keys"]));
  for (const algorithmOf of ALGORITHMS) {
    const cells = [1, 10_000, 1_000_000].map((count) => {
      const keys = keysOf(count);
      const consumer = (rate: typeof ADMITTED) =>
        limiter(algorithmOf(rate), { store: memoryStore(), prefix: "bench" });
      const operations = count === 1_000_000 ? Math.max(OPERATIONS, count) : OPERATIONS;
      const figures = compare(
        {
          admitted: reused(keys, consumer(ADMITTED)),
          refused: reused(keys, consumer(REFUSED)),
        },
        operations,
        count === 1_000_000 ? 1 : 3,
      );
      return `${figures.admitted.toFixed(0)}/${figures.refused.toFixed(0)}`;
    });
    console.log(row(algorithmOf(REFUSED).id.split("/3600")[0]!, cells));
  }
}

async function memory(): Promise<void> {
  // This comes first, because it would count memory that other measurements leave behind.
  const keys = keysOf(1_000_000);
  for (const key of keys) new Map().set(key, key.length);
  const before = await bytesInUse();
  const api = limiter(gcra(REFUSED), { store: memoryStore(), prefix: "bench" });
  for (const key of keys) api.consume(key);
  const bytes = (await bytesInUse() - before) / keys.length;
  console.log(`\nMemory: ${bytes.toFixed(0)} bytes a key beside its string, at 1 million keys`);
  api.reset("user:1");
}

/** The time of each call, in nanoseconds, in ascending order. */
function timesOf(calls: number, call: (index: number) => void): Float64Array {
  const times = new Float64Array(calls);
  for (let index = 0; index < calls; index++) {
    const start = performance.now();
    call(index);
    times[index] = (performance.now() - start) * 1e6;
  }
  return times.sort();
}

/**
 * The wait of the unlucky call: a million keys are added, then called in turn, each about once a
 * second by a clock that moves on with the calls, so that every run does the same. Beside it, a
 * bare map of the same keys; the growth of the map is its longest call.
 */
function longest(): void {
  console.log("\nThe longest call at 1 million keys: ns");
  console.log(row("", ["p50", "p99.99", "longest"]));
  const keys = keysOf(1_000_000);
  const steady = SHORT ? 7_000_000 : 10_000_000;
  const map = new Map<string, { count: number }>();
  let now = 1_790_000_000_000;
  const rate = gcra({ limit: 10, period: 2_000, burst: 10 });
  const api = limiter(rate, { store: memoryStore(), prefix: "bench", clock: () => now });
  const counted = (key: string) => {
    const cell = map.get(key);
    if (cell === undefined) map.set(key, { count: 1 });
    else cell.count++;
  };
  const consumed = (key: string) => void api.consume(key);
  for (const [name, call] of [["Map", counted], ["tidegate", consumed]] as const) {
    for (const [phase, calls] of [["added", keys.length], ["called", steady]] as const) {
      const times = timesOf(calls, (index) => {
        if (index % 1_000 === 0) now++;
        call(keys[index % keys.length]!);
      });
      const cells = [0.5, 0.9999, 1].map((share) =>
        times[Math.ceil(share * calls) - 1]!.toFixed(0)
      );
      console.log(row(`${name}, ${calls / 1e6} million calls, ${phase}`, cells));
    }
  }
}

/** A map that counts, and neither reads a clock nor makes a decision. */
function countingMap(): Consumer {
  const cells = new Map<string, { remaining: number }>();
  return {
    consume(key) {
      let cell = cells.get(key);
      if (cell === undefined) cells.set(key, cell = { remaining: 0 });
      cell.remaining++;
      return cell;
    },
  };
}

function popular(): void {
  console.log(
    "\n100 thousand keys by Zipf's law: ns per decision, and times that of a counting map",
  );
  console.log(row("", ["counting", "by hand", "tidegate", "ratio"]));
  const keys = popularKeys(100_000, 1_000_000);
  for (const rate of [ADMITTED, { limit: 100, period: 1_000, burst: 100 }]) {
    const figures = compare(
      {
        map: reused(keys, countingMap()),
        hand: reused(keys, handWrittenGcra(rate.limit, rate.period, rate.burst)),
        ours: reused(keys, limiter(gcra(rate), { store: memoryStore(), prefix: "bench" })),
      },
      SHORT ? 200_000 : keys.length,
      ROUNDS,
    );
    const ratio = `${(figures.ours / figures.map).toFixed(2)}x`;
    console.log(row(`limit ${rate.limit}`, [figures.map, figures.hand, figures.ours, ratio]));
  }
}

/** `--part=memory`, `longest`, `popular`, `verbs` or `algorithms`: that part alone. */
const part = process.argv.find((word) => word.startsWith("--part="))?.slice(7);
const isAsked = (name: string) => part === undefined || part === name;

console.log(runtime());
if (isAsked("memory")) await memory();
if (isAsked("longest")) longest();
if (isAsked("popular")) popular();
if (isAsked("verbs")) {
  verbs(memoryStore, popularKeys(10_000, 100_000), SHORT ? 20_000 : 100_000, ROUNDS);
}
if (isAsked("algorithms")) {
  headline("gcra alone");
  table();
  headline("gcra after all the others");
}
finish();
