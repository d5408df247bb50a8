/*
 * The cases of bench/shared.ts that take one thread, each in a thread of its own: an engine makes
 * code for the calls it has seen so far. Other limits, run before in the same thread, would slow
 * down calls that a server with only this limit makes all day.
 */

import { parentPort, workerData } from "node:worker_threads";

import { type Algorithm, gcra, type Limiter, limiter, memoryStore, slidingWindow } from "../mod.ts";
import { type SharedStore, sharedStore } from "../stores/shared/shared_store.ts";
import { compare, finish, median } from "./measure.ts";

/** A case, and how long it is run. */
export interface Case {
  /** Fresh keys, one hot key, or a window of so many sub-buckets as a tree or in counted form. */
  readonly kind: "fresh" | "hot" | "tree" | "counted";
  /** How many keys or sub-buckets. */
  readonly size: number;
  readonly rounds: number;
  readonly isShort: boolean;
}

const NOW = 1_790_000_000_000;
const clock = () => NOW;

/** Flat strings, made of bytes. */
function freshKeys(count: number, among: number): string[] {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(15);
  return Array.from({ length: count }, () => {
    const number = Math.floor(Math.random() * among);
    encoder.encodeInto(`user:${1_000_000_000 + number}`, bytes);
    return decoder.decode(bytes);
  });
}

/** Fresh strings of so many keys, that are all there. */
function freshCase({ size, rounds, isShort }: Case) {
  const algorithm = gcra({ limit: 1_000_000, period: "1h", burst: 1_000_000 });
  const store = sharedStore({ capacity: size, maxBytes: 0 });
  const shared = limiter(algorithm, { store, prefix: "bench", clock });
  const memory = limiter(algorithm, { store: memoryStore(), prefix: "bench", clock });
  const map = new Map<string, number>();
  for (let index = 0; index < size; index++) {
    const key = `user:${1_000_000_000 + index}`;
    map.set(key, index);
    shared.consume(key);
    memory.consume(key);
  }
  const calls = isShort ? 20_000 : 100_000;
  const variants: Record<string, (key: string) => number> = {
    map: (key) => map.get(key) ?? 0,
    shared: (key) => shared.consume(key).remaining,
    memory: (key) => memory.consume(key).remaining,
  };
  const times = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, call] of Object.entries(variants)) {
      const fresh = freshKeys(calls, size);
      const start = performance.now();
      for (const key of fresh) call(key);
      if (round >= 0) times.get(name)!.push((performance.now() - start) * 1e6 / calls);
    }
  }
  return Object.fromEntries([...times].map(([name, all]) => [name, median(all)]));
}

/** One key, admitted each time. */
function hotCase({ rounds, isShort }: Case) {
  const algorithm = gcra({ limit: 3_600_000, period: "1h", burst: 2 ** 31 });
  const make = (store: SharedStore | ReturnType<typeof memoryStore>) => {
    const { consume } = limiter(algorithm, { store, prefix: "bench", clock });
    return (count: number) => {
      let sum = 0;
      for (let call = 0; call < count; call++) sum += consume("hot").remaining;
      return sum;
    };
  };
  return compare(
    { shared: make(sharedStore({ capacity: 1_000 })), memory: make(memoryStore()) },
    isShort ? 100_000 : 400_000,
    rounds,
  );
}

/** A window in which every sub-bucket holds units; 4 calls to each. */
function windowCase({ kind, size, rounds, isShort }: Case) {
  const store = sharedStore({ capacity: 1_000 });
  const fine = slidingWindow({ limit: 400_000_000, period: size * 1_000, precision: 1_000 });
  const window = kind === "tree" ? fine : inCounts(fine, size);
  return compare(
    {
      gcra: moving(store, size, gcra({ limit: 1_000_000, period: 1_000_000, burst: 1_000_000 })),
      window: moving(store, size, window),
      scan: ring(size, true),
      total: ring(size, false),
    },
    isShort && size > 4_096 ? 10_000 : 40_000,
    rounds,
  );
}

/** Whole admitted decisions, the clock moving on by one sub-bucket at each fourth. */
function moving(store: SharedStore, buckets: number, algorithm: Algorithm) {
  let now = NOW;
  const api: Limiter = limiter(algorithm, { store, prefix: "bench", clock: () => now });
  for (let bucket = 0; bucket < buckets; bucket++) {
    api.consume("key");
    now += 1_000;
  }
  return (count: number) => {
    let sum = 0;
    for (let call = 0; call < count; call++) {
      if (call % 4 === 0) now += 1_000;
      sum += api.consume("key").remaining;
    }
    return sum;
  };
}

/** The same window, as a log, which the store keeps in counted form whatever its size. */
function inCounts(algorithm: Algorithm, buckets: number): Algorithm {
  const [policy] = algorithm.policies;
  const policies = [{ ...policy!, period: buckets }];
  const capacity = Math.min(algorithm.capacity, 65_536 * 1_000);
  return { ...algorithm, id: `counted ${algorithm.id}`, policies, capacity };
}

/** A bare ring, mutable and of one thread: units by a scan, or by a running total. */
function ring(buckets: number, scans: boolean) {
  const units = new Int32Array(buckets);
  let newest = 0;
  let total = 0;
  return (count: number) => {
    let sum = 0;
    for (let call = 0; call < count; call++) {
      if (call % 4 === 0) {
        newest++;
        total -= units[newest % buckets]!;
        units[newest % buckets] = 0;
      }
      let used = total;
      if (scans) {
        used = 0;
        for (let index = 0; index < buckets; index++) used += units[index]!;
      }
      units[newest % buckets]!++;
      total++;
      sum += used;
    }
    return sum;
  };
}

const cases = { fresh: freshCase, hot: hotCase, tree: windowCase, counted: windowCase };
const given = workerData as Case;
parentPort!.postMessage(cases[given.kind](given));
finish();
