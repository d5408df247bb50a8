/*
 * The cost of a decision on the shared store: one thread beside a bare `Map.get` and the memory
 * store; two threads beside one; and sliding windows, by how many sub-buckets they have, beside a
 * ring that is scanned.
 *
 * The caller gives the clock in all variants, so its cost is left out. Fresh strings are made anew,
 * flat, for each variant and round, outside of the time taken, because an engine keeps a string's
 * hash with it.
 *
 * The flaw: with two cores, two threads take all there is, so that the rest of the system falls on
 * them; and a machine with busy neighbours shows what they left. Ratios are of figures taken in
 * turn, in one run.
 */

import { writeFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import process from "node:process";

import { sharedStore } from "../stores/shared/shared_store.ts";
import { crossoverPlot } from "./shared_plot.ts";
import { median, row, runtime } from "./measure.ts";
import type { Case } from "./shared_cases.ts";
import type { Load } from "./shared_worker.ts";
import { popularKeys } from "./popular_keys.ts";
import { verbs } from "./verbs.ts";

const SHORT = process.argv.includes("--short");
const ROUNDS = SHORT ? 5 : 9;

/** `--part=keys`, `threads`, `windows` or `verbs`: that part alone; `--plot` draws the windows' figures. */
const part = process.argv.find((word) => word.startsWith("--part="))?.slice(7);
const isWanted = (name: string) => part === undefined || part === name;

console.log(`\n${runtime()}`);
if (isWanted("keys")) await keys();
if (isWanted("threads")) await threads();
if (isWanted("windows")) await windows();
if (isWanted("verbs")) {
  const keys = popularKeys(10_000, 100_000);
  verbs(() => sharedStore({ capacity: 100_000 }), keys, SHORT ? 10_000 : 50_000, ROUNDS);
}

/** The figures of a case, in a thread of its own. */
async function figuresOf(kind: Case["kind"], size: number): Promise<Record<string, number>> {
  const workerData: Case = { kind, size, rounds: ROUNDS, isShort: SHORT };
  const worker = new Worker(new URL("./shared_cases.ts", import.meta.url), { workerData });
  const figures = await new Promise<Record<string, number>>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  await worker.terminate();
  return figures;
}

async function keys(): Promise<void> {
  for (const size of [10_000, 1_000_000]) {
    const { map, shared, memory } = await figuresOf("fresh", size);
    const names = ["Map.get", "shared", "memory", "x Map", "x memory"];
    console.log(row(`${size} keys, fresh strings`, names));
    const ratios = [ratio(shared!, map!), ratio(shared!, memory!)];
    console.log(row("  ns", [map!, shared!, memory!, ...ratios]));
  }
  const { shared, memory } = await figuresOf("hot", 1);
  console.log(row("one hot key, one thread", ["shared", "memory", "ratio"]));
  console.log(row("  ns", [shared!, memory!, ratio(shared!, memory!)]));
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

/** Whole admitted decisions of a window, beside `gcra` on the same store. */
async function windows(): Promise<void> {
  const names = ["gcra", "tree", "counted", "x gcra", "scan", "total"];
  const curves = new Map<string, (readonly [number, number])[]>();
  console.log(row("sub-buckets, ns", names));
  for (const size of [8, 16, 32, 64, 128, 240, 960, 3_600, 16_384, 65_536]) {
    const inCounts = await figuresOf("counted", size);
    const inTree = size > 64 ? await figuresOf("tree", size) : undefined;
    const { gcra, window, scan, total } = inTree ?? inCounts;
    const tree = inTree?.["window"];
    const cells = [gcra!, tree ?? "-", inCounts["window"]!, ratio(window!, gcra!), scan!, total!];
    console.log(row(`  ${size}`, cells));
    const points = { gcra, tree, counted: inCounts["window"], scan, total };
    for (const [name, time] of Object.entries(points)) {
      if (time !== undefined) curves.set(name, [...curves.get(name) ?? [], [size, time]]);
    }
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

function ratio(one: number, other: number): string {
  return `${(one / other).toFixed(2)}x`;
}
