/*
 * Why the shared store has no lock: the swap of a block beside a robust lock, both bare, without
 * hashing and without a table, on one key of `gcra`. Neither is part of the product.
 *
 *   swap   slot: version | block. A call writes the state after it into a spare block of its own, and
 *          swaps the slot by one compare-and-swap. A race that was lost is decided again.
 *   lock   word: version | owner | half. A call sets the owner by one compare-and-swap, writes the
 *          state after it into the half that is not current, and by a second one flips the half,
 *          raises the version and lets go: so a thread that dies while it holds the lock has changed
 *          nothing that others see, and whoever knows of its death swaps the owner out. Who finds it
 *          held waits, and spins for so long.
 *
 * Refusals write nothing in both: they look at the word before and after.
 */

import process from "node:process";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import { splitReducer } from "../core/algorithms/split_reducer.ts";
import { type Algorithm, gcra } from "../mod.ts";
import { median, row, runtime } from "./measure.ts";

const SHORT = process.argv.includes("--short");
const ROUNDS = SHORT ? 5 : 15;
const MILLISECONDS = SHORT ? 60 : 200;
const NOW = 1_790_000_000_000;

type Protocol = "swap" | "lock";

interface Load {
  readonly protocol: Protocol;
  readonly admitted: boolean;
}

/** Words of the memory: the threads to begin, the key's word, then states from word 32 on. */
const WORD = 16;
const STATES = 16;
const SPARES = 64;

const busy = gcra({ limit: 3_600_000, period: "1h", burst: 2 ** 31 });
const full = gcra({ limit: 1, period: "1h", burst: 1 });

/** One call by swap; whether it was admitted. */
function swapper(memory: SharedArrayBuffer, algorithm: Algorithm, thread: number) {
  const ints = new Int32Array(memory);
  const floats = new Float64Array(memory);
  const { take, decide } = splitReducer(algorithm);
  const spares = Array.from({ length: SPARES }, (_, index) => 1 + thread * SPARES + index);
  let next = 0;
  return function call(): boolean {
    for (;;) {
      const word = Atomics.load(ints, WORD);
      const block = word & 1_023;
      const state = block === 0 ? algorithm.initial : floats[STATES + block]!;
      const after = take(state, NOW, 1);
      const { allowed } = decide(state, after, NOW, 1);
      if (!allowed) {
        if (Atomics.load(ints, WORD) === word) return false;
        continue;
      }
      const spare = spares[next]!;
      floats[STATES + spare] = after as number;
      const changed = (((word & ~1_023) + 1_024) | 0) | spare;
      if (Atomics.compareExchange(ints, WORD, word, changed) !== word) continue;
      spares[next] = block === 0 ? spare : block;
      next = (next + 1) % SPARES;
      return true;
    }
  };
}

/** One call by lock; whether it was admitted. */
function locker(memory: SharedArrayBuffer, algorithm: Algorithm, thread: number) {
  const ints = new Int32Array(memory);
  const floats = new Float64Array(memory);
  const { take, decide } = splitReducer(algorithm);
  const owner = (thread + 1) << 1;
  const owners = 0xff << 1;
  return function call(): boolean {
    for (;;) {
      const word = Atomics.load(ints, WORD);
      if ((word & owners) !== 0) continue;
      const state = word === 0 ? algorithm.initial : floats[STATES + (word & 1)]!;
      const after = take(state, NOW, 1);
      const { allowed } = decide(state, after, NOW, 1);
      if (!allowed) {
        if (Atomics.load(ints, WORD) === word) return false;
        continue;
      }
      const held = word | owner;
      if (Atomics.compareExchange(ints, WORD, word, held) !== word) continue;
      const half = (word & 1) ^ 1;
      floats[STATES + half] = after as number;
      const changed = ((((word & ~1_023) + 1_024) | 0) & ~1) | half;
      Atomics.compareExchange(ints, WORD, held, changed);
      return true;
    }
  };
}

function serve(): void {
  const { memory, thread } = workerData as { memory: SharedArrayBuffer; thread: number };
  const ints = new Int32Array(memory);
  const make = { swap: swapper, lock: locker };
  parentPort!.on("message", ({ protocol, admitted }: Load) => {
    const call = make[protocol](memory, (admitted ? busy : full) as Algorithm, thread);
    Atomics.sub(ints, 0, 1);
    while (Atomics.load(ints, 0) > 0);
    const start = performance.now();
    let calls = 0;
    for (; performance.now() - start < MILLISECONDS; calls += 2_000) {
      for (let each = 0; each < 2_000; each++) call();
    }
    parentPort!.postMessage(calls * 1_000 / (performance.now() - start));
  });
  parentPort!.postMessage("ready");
}

async function compare(): Promise<void> {
  const memory = new SharedArrayBuffer(8 * (STATES + 4 * SPARES));
  const ints = new Int32Array(memory);
  const workers = await Promise.all([0, 1].map(async (thread) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { memory, thread } });
    await new Promise((resolve) => worker.once("message", resolve));
    return worker;
  }));

  async function rate(load: Load, count: number): Promise<number> {
    ints.fill(0);
    Atomics.store(ints, 0, count);
    const rates = workers.slice(0, count).map((worker) => {
      const answer = new Promise<number>((resolve) => worker.once("message", resolve));
      worker.postMessage(load);
      return answer;
    });
    return (await Promise.all(rates)).reduce((a, b) => a + b);
  }

  console.log(`\n${runtime()}`);
  console.log(row("decisions a second, millions", ["swap", "lock", "swap/lock"]));
  for (const admitted of [false, true]) {
    for (const threads of [1, 2]) {
      const rates: Record<Protocol, number[]> = { swap: [], lock: [] };
      for (let round = -1; round < ROUNDS; round++) {
        for (const protocol of ["swap", "lock"] as const) {
          const figure = await rate({ protocol, admitted }, threads);
          if (round >= 0) rates[protocol].push(figure);
        }
      }
      const [swap, lock] = [median(rates.swap) / 1e6, median(rates.lock) / 1e6];
      const name = `  ${admitted ? "admitted" : "refused"}, ${threads} thread${
        threads > 1 ? "s" : ""
      }`;
      console.log(row(name, [swap, lock, `${(swap / lock).toFixed(2)}x`]));
    }
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
}

if (isMainThread) await compare();
else serve();
