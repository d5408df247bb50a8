/*
 * What a decision costs on the shared store: one thread beside a bare `Map.get` and the memory
 * store; two threads beside one; and sliding windows, by how many sub-buckets they have, beside a
 * ring that is scanned.
 *
 * The clock is given by the caller in all variants, and left out. Fresh strings are made anew, flat,
 * for each variant and round, outside of the time taken, as an engine keeps a string's hash with it.
 *
 * The flaw: with two cores, two threads take all there is, so that the rest of the system falls on
 * them; and a machine with busy neighbours shows what they left. Ratios are of figures taken in
 * turn, in one run.
 */

import { writeFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import process from "node:process";

import { type Algorithm, gcra, type Limiter, limiter, memoryStore, slidingWindow } from "../mod.ts";
import { type SharedStore, sharedStore } from "../stores/shared.ts";
import { crossoverPlot } from "./shared_plot.ts";
import { compare, finish, median, row, runtime } from "./measure.ts";
import type { Load } from "./shared_worker.ts";

const SHORT = process.argv.includes("--short");
const ROUNDS = SHORT ? 5 : 9;
const NOW = 1_790_000_000_000;
const clock = () => NOW;

/** `--part=keys`, `threads` or `windows`: that part alone; `--plot` draws the windows' figures. */
const part = process.argv.find((word) => word.startsWith("--part="))?.slice(7);
const isWanted = (name: string) => part === undefined || part === name;

console.log(`\n${runtime()}`);
if (isWanted("keys")) {
  oneThread(10_000);
  oneThread(1_000_000);
  hotKey();
}
if (isWanted("threads")) await threads();
if (isWanted("windows")) windows();
finish();

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

function oneThread(keys: number): void {
  const algorithm = gcra({ limit: 1_000_000, period: "1h" });
  const shared = limiter(algorithm, {
    store: sharedStore({ capacity: keys, maxBytes: 0 }),
    prefix: "bench",
    clock,
  });
  const memory = limiter(algorithm, { store: memoryStore(), prefix: "bench", clock });
  const map = new Map<string, number>();
  for (let place = 0; place < keys; place++) {
    const key = `user:${1_000_000_000 + place}`;
    map.set(key, place);
    shared.consume(key);
    memory.consume(key);
  }
  const calls = SHORT ? 20_000 : 100_000;
  const variants: Record<string, (key: string) => number> = {
    map: (key) => map.get(key) ?? 0,
    shared: (key) => shared.consume(key).remaining,
    memory: (key) => memory.consume(key).remaining,
  };
  const times = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, call] of Object.entries(variants)) {
      const fresh = freshKeys(calls, keys);
      const start = performance.now();
      for (const key of fresh) call(key);
      if (round >= 0) times.get(name)!.push((performance.now() - start) * 1e6 / calls);
    }
  }
  const [bare = 0, decision = 0, inMemory = 0] = [...times.values()].map(median);
  console.log(
    row(`${keys} keys, fresh strings`, ["Map.get", "shared", "memory", "x Map", "x memory"]),
  );
  console.log(
    row("  ns", [bare, decision, inMemory, ratio(decision, bare), ratio(decision, inMemory)]),
  );
}

function hotKey(): void {
  const algorithm = gcra({ limit: 3_600_000, period: "1h", burst: 2 ** 31 });
  const make = (store: SharedStore | ReturnType<typeof memoryStore>) => {
    const { consume } = limiter(algorithm, { store, prefix: "bench", clock });
    return (count: number) => {
      let sum = 0;
      for (let call = 0; call < count; call++) sum += consume("hot").remaining;
      return sum;
    };
  };
  const figures = compare(
    { shared: make(sharedStore({ capacity: 1_000 })), memory: make(memoryStore()) },
    SHORT ? 100_000 : 400_000,
    ROUNDS,
  );
  console.log(row("one hot key, one thread", ["shared", "memory", "ratio"]));
  const { shared, memory } = figures;
  console.log(row("  ns", [shared, memory, ratio(shared, memory)]));
}

async function threads(): Promise<void> {
  const store = sharedStore({ capacity: 100_000, maxBytes: 0 });
  const flags = new Int32Array(new SharedArrayBuffer(16));
  const workers = await Promise.all([0, 1].map(async () => {
    const worker = new Worker(new URL("./shared_worker.ts", import.meta.url), {
      workerData: { handle: store.handle, flags },
    });
    await new Promise((resolve) => worker.once("message", resolve));
    return worker;
  }));

  async function rate(load: Load["kind"], count: number): Promise<number> {
    Atomics.store(flags, 0, count);
    const milliseconds = SHORT ? 100 : 250;
    const rates = workers.slice(0, count).map((worker) => {
      const answer = new Promise<number>((resolve) => worker.once("message", resolve));
      worker.postMessage({ kind: load, milliseconds } satisfies Load);
      return answer;
    });
    return (await Promise.all(rates)).reduce((a, b) => a + b);
  }

  console.log(row("decisions a second, millions", ["1 thread", "2 threads", "ratio"]));
  const loads = ["refused", "admitted", "leased16", "leased64", "leased256", "zipf"] as const;
  for (const load of loads) {
    const one: number[] = [];
    const two: number[] = [];
    // Two threads with leases are held against one without.
    const alone = load.startsWith("leased") ? "admitted" : load;
    for (let round = -1; round < ROUNDS; round++) {
      const figures = [await rate(alone, 1), await rate(load, 2)] as const;
      if (round < 0) continue;
      one.push(figures[0]);
      two.push(figures[1]);
    }
    const cells = [median(one) / 1e6, median(two) / 1e6, ratio(median(two), median(one))];
    console.log(row(`  ${load}`, cells));
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
}

/** Whole admitted decisions of a window in which every sub-bucket holds units; 4 calls to each. */
function windows(): void {
  const names = ["gcra", "tree", "counted", "x gcra", "scan", "total"];
  const curves = new Map<string, (readonly [number, number])[]>();
  console.log(row("sub-buckets, ns", names));
  for (const slots of [8, 16, 32, 64, 128, 240, 960, 3_600, 16_384, 65_536]) {
    const store = sharedStore({ capacity: 1_000 });
    const period = slots * 1_000;
    const fine = slidingWindow({ limit: 400_000_000, period, precision: 1_000 });
    const isTree = slots > 64;
    const figures = compare(
      {
        gcra: moving(store, slots, gcra({ limit: 1_000_000, period: 1_000_000, burst: 1_000_000 })),
        tree: isTree ? moving(store, slots, fine) : () => 0,
        counted: moving(store, slots, inCounts(fine, slots)),
        scan: ring(slots, true),
        total: ring(slots, false),
      },
      SHORT && slots > 4_096 ? 10_000 : 40_000,
      ROUNDS,
    );
    const { gcra: bucket, tree, counted, scan, total } = figures;
    const whole = isTree ? tree : counted;
    const cells = [bucket, isTree ? tree : "-", counted, ratio(whole, bucket), scan, total];
    console.log(row(`  ${slots}`, cells));
    for (const [name, time] of Object.entries(figures)) {
      if (name === "tree" && !isTree) continue;
      curves.set(name, [...curves.get(name) ?? [], [slots, time]]);
    }
    store.close();
  }
  if (process.argv.includes("--plot")) draw(curves);
}

/** Draws docs/plots/shared_windows.svg. */
function draw(curves: ReadonlyMap<string, readonly (readonly [number, number])[]>): void {
  const names: Readonly<Record<string, string>> = {
    gcra: "gcra",
    tree: "segment tree",
    counted: "counted form",
    scan: "ring, scanned",
    total: "ring, total",
  };
  const title = `A decision of a window, by its sub-buckets (${runtime()})`;
  const plot = crossoverPlot(
    title,
    [...curves].map(([name, points]) => ({ name: names[name] ?? name, points })),
  );
  writeFileSync(new URL("../docs/plots/shared_windows.svg", import.meta.url), `${plot}\n`);
}

/** Whole admitted decisions, the clock moving on by one sub-bucket at each fourth. */
function moving(store: SharedStore, slots: number, algorithm: Algorithm) {
  let now = NOW;
  const api: Limiter = limiter(algorithm, { store, prefix: "bench", clock: () => now });
  for (let slot = 0; slot < slots; slot++) {
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

/** The same window, told as a log, which the store keeps in counted form whatever its size. */
function inCounts(algorithm: Algorithm, slots: number): Algorithm {
  const [policy] = algorithm.policies;
  const policies = [{ ...policy!, period: slots }];
  const capacity = Math.min(algorithm.capacity, 65_536 * 1_000);
  return { ...algorithm, id: `counted ${algorithm.id}`, policies, capacity };
}

/** A bare ring, mutable and of one thread: units by a scan, or by a running total. */
function ring(slots: number, scans: boolean) {
  const units = new Int32Array(slots);
  let newest = 0;
  let total = 0;
  return (count: number) => {
    let sum = 0;
    for (let call = 0; call < count; call++) {
      if (call % 4 === 0) {
        newest++;
        total -= units[newest % slots]!;
        units[newest % slots] = 0;
      }
      let used = total;
      if (scans) {
        used = 0;
        for (let place = 0; place < slots; place++) used += units[place]!;
      }
      units[newest % slots]!++;
      total++;
      sum += used;
    }
    return sum;
  };
}

function ratio(one: number, other: number): string {
  return `${(one / other).toFixed(2)}x`;
}
