/*
 * A process or a thread that settles receipts which others settle at the same time, each of them twice,
 * and reserves units of the same keys meanwhile. Started by settled_together.ts, which sends it a round
 * of receipts after the other.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

import {
  type Algorithm,
  all,
  type AsyncLimiter,
  fixedWindow,
  gcra,
  limiter,
  type Receipt,
  reservable,
  reserve,
  settle,
  type Settlement,
  slidingLog,
  type Store,
} from "../../../mod.ts";
import { openStore, type Place } from "../open_store.ts";

/** A receipt, and the units that its call used. */
export type Claimed = readonly [receipt: Receipt, used: number];

/** The receipts of a round, in a list for each limiter. */
export interface Round {
  readonly key: string;
  readonly claims: readonly (readonly Claimed[])[];
  /** Where in each list this settler begins. */
  readonly from: number;
}

/** How often this settler has settled each receipt, and its own. */
export interface RoundReport {
  readonly settled: readonly (readonly number[])[];
  readonly own: readonly number[];
}

/** The units of each limit. None drains within a test. */
export const LIMIT = 200;
const DAY = { limit: LIMIT, period: "1d" } as const;
const WINDOW = fixedWindow({ ...DAY, anchor: "first" });
const RATE = gcra({ limit: 1, period: "1d", burst: LIMIT });
const ALGORITHMS: readonly Algorithm[] = [RATE, WINDOW, slidingLog(DAY), all(RATE, WINDOW)];

/** The limiters whose receipts are settled. */
export function settledLimiters(store: Store): readonly AsyncLimiter[] {
  return ALGORITHMS.map((algorithm, index) =>
    limiter(reservable(algorithm), { store: store as never, prefix: `settled${index}` })
  ) as readonly unknown[] as readonly AsyncLimiter[];
}

/** Settles all receipts of a round at once, and each twice. */
async function settleRound(
  limiters: readonly AsyncLimiter[],
  { key, claims, from }: Round,
): Promise<RoundReport> {
  const own: number[] = [];
  const isSettled = ({ outcome }: Settlement) => outcome === "settled";
  const twice = async (api: AsyncLimiter, [receipt, used]: Claimed) => {
    const ends = await Promise.all([0, 1].map(() => settle(api, key, receipt, used)));
    return ends.filter(isSettled).length;
  };
  const settled = await Promise.all(limiters.map(async (api, index) => {
    const list = claims[index]!;
    const counts = new Array<number>(list.length).fill(0);
    await Promise.all(list.map(async (_, step) => {
      const at = (from + step) % list.length;
      counts[at] = await twice(api, list[at]!);
      if (step % 5 !== 0) return;
      const { receipt } = await reserve(api, key);
      if (receipt !== undefined) own.push(await twice(api, [receipt, 0]));
    }));
    return counts;
  }));
  return { settled, own };
}

async function serve(place: Place): Promise<void> {
  const { store, close } = await openStore(place);
  const limiters = settledLimiters(store);
  if (parentPort !== null) {
    const port = parentPort;
    await new Promise<void>((resolve) =>
      port.on("message", async (round: Round | undefined) => {
        if (round === undefined) return resolve();
        port.postMessage(await settleRound(limiters, round));
      })
    );
  } else {
    for await (const line of createInterface({ input: process.stdin })) {
      console.log(JSON.stringify(await settleRound(limiters, JSON.parse(line) as Round)));
    }
  }
  await close();
  if (parentPort === null) process.exit();
  parentPort.close();
}

if (isMainThread) {
  const place = process.argv[2];
  if (place !== undefined && place.startsWith("{")) await serve(JSON.parse(place) as Place);
} else if (workerData !== null && typeof workerData === "object" && "kind" in workerData) {
  await serve(workerData as Place);
}
