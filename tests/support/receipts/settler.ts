/*
 * A process or a thread that reserves units of keys that others use as well, and settles them late;
 * those with a time to live twice. Started by tests/stores/receipts.test.ts.
 */
import process from "node:process";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

import {
  type Algorithm,
  all,
  type AsyncLimiter,
  fixedWindow,
  gcra,
  limiter,
  type Receipt,
  type ReserveOptions,
  slidingLog,
  type Store,
} from "../../../mod.ts";
import { type Place, storeAt } from "../permits/jobs.ts";

/** A settler's task. */
export interface SettlerTask {
  readonly place: Place;
  /** Reservations on each key. */
  readonly rounds: number;
}

/** Units that a settler has taken of a key and not given back; and what came back a second time. */
export interface SettlerReport {
  readonly net: readonly number[];
  readonly twice: number;
}

const RATE = { limit: 20, period: "1h" } as const;

const BUCKET = { ...RATE, burst: 20 } as const;
const ALGORITHMS = [
  gcra(BUCKET),
  fixedWindow(RATE),
  slidingLog(RATE),
  all(gcra(BUCKET), fixedWindow({ limit: 30, period: "1d" })),
] as readonly Algorithm[];
/** Time stands still, so that no unit drains: all that is taken and not given back is in use. */
const NOW = 1_790_000_000_000;
/** Receipts that a settler holds of a key. */
const HELD = 4;

/** The limiters whose units the settlers share. */
export function sharedLimiters(store: Store): readonly AsyncLimiter[] {
  return ALGORITHMS.map((algorithm, index) =>
    limiter(algorithm, { store: store as never, prefix: `shared${index}`, clock: () => NOW })
  ) as readonly unknown[] as readonly AsyncLimiter[];
}

async function settleOn(api: AsyncLimiter, rounds: number): Promise<readonly [number, number]> {
  let net = 0;
  let twice = 0;
  const held: Receipt[] = [];
  for (let round = 0; round < rounds; round++) {
    const cost = 1 + round % 3;
    const options: ReserveOptions = round % 2 === 0 ? {} : { ttl: "10m" };
    const { receipt } = await api.reserve("key", cost, options);
    if (receipt !== undefined) {
      net += cost;
      held.push(JSON.parse(JSON.stringify(receipt)));
    }
    if (receipt !== undefined && held.length < HELD) continue;
    const oldest = held.shift();
    if (oldest === undefined) continue;
    const actual = round % 5 === 0 ? Math.min(1, oldest.units) : 0;
    const { returned } = await api.settle("key", oldest, actual);
    net -= returned;
    if (oldest.expires) twice += (await api.settle("key", oldest, 0)).returned;
  }
  for (const receipt of held) {
    net -= (await api.release("key", receipt)).returned;
    if (receipt.expires) twice += (await api.release("key", receipt)).returned;
  }
  return [net, twice];
}

async function work({ place, rounds }: SettlerTask): Promise<SettlerReport> {
  const store = storeAt(place);
  const ends = await Promise.all(sharedLimiters(store).map((api) => settleOn(api, rounds)));
  await store.close();
  return { net: ends.map(([net]) => net), twice: ends.reduce((sum, [, twice]) => sum + twice, 0) };
}

if (isMainThread) {
  const task = process.argv[2];
  if (task !== undefined && task.startsWith("{")) {
    console.log(JSON.stringify(await work(JSON.parse(task) as SettlerTask)));
    process.exit();
  }
} else if (workerData !== null && typeof workerData === "object" && "rounds" in workerData) {
  parentPort!.postMessage(await work(workerData as SettlerTask));
}
