/*
 * A process or a thread of a rolling deploy: it uses up keys under its own limits, while others use the
 * same keys under older or newer ones. Started by deployed_together.ts.
 */
import process from "node:process";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

import {
  type Algorithm,
  all,
  type AsyncLimiter,
  blockable,
  calendarWindow,
  fixedWindow,
  gcra,
  leakyQueue,
  limiter,
  lockout,
  reservable,
  slidingCounter,
  slidingLog,
  slidingWindow,
  type Store,
  tokenBucket,
} from "../../../mod.ts";
import { openStore, type Place } from "../open_store.ts";

/** The task of a process. */
export interface Deployment {
  readonly place: Place;
  readonly limit: number;
  readonly keys: readonly string[];
}

/** Units that were admitted, by limiter and key. */
export type Admitted = readonly (readonly number[])[];

/** Callers of each key at once. */
const LANES = 3;
const YEAR = "365d";

/** Algorithms of which nothing ends within a test. */
export function deployed(limit: number): readonly Algorithm[] {
  const window = fixedWindow({ limit, period: YEAR, anchor: "first" });
  const rate = gcra({ limit: 1, period: YEAR, burst: limit });
  const log = slidingLog({ limit, period: YEAR });
  return [
    rate,
    leakyQueue({ limit: 1, period: YEAR, queue: limit - 2, burst: 2 }),
    tokenBucket({ limit: 1, period: YEAR, burst: limit, refill: "interval" }),
    window,
    calendarWindow({ limit, every: "year", zone: "UTC" }),
    slidingCounter({ limit, period: YEAR }),
    slidingWindow({ limit, period: YEAR, precision: "1d" }),
    log,
    lockout({ limit, period: YEAR, lock: YEAR }),
    lockout({ limit, period: YEAR, lock: ["1d", YEAR], forget: "1d" }),
    all(rate, window, log),
    blockable(log),
    all(blockable(window), log),
    reservable(rate),
  ];
}

/** The limiters of one limit. */
export function deployedLimiters(store: Store, limit: number): readonly AsyncLimiter[] {
  return deployed(limit).map((algorithm, index) =>
    limiter(algorithm, { store: store as never, prefix: `rolling${index}` })
  ) as readonly unknown[] as readonly AsyncLimiter[];
}

/** Takes single units of each key until one is refused. */
export async function useUp(
  limiters: readonly AsyncLimiter[],
  keys: readonly string[],
): Promise<Admitted> {
  const counts = limiters.map(() => keys.map(() => 0));
  const lane = async (at: number, key: number) => {
    while ((await limiters[at]!.consume(keys[key]!)).allowed) counts[at]![key]!++;
  };
  await Promise.all(
    limiters.flatMap((_, at) =>
      keys.flatMap((_, key) => Array.from({ length: LANES }, () => lane(at, key)))
    ),
  );
  return counts;
}

async function deploy({ place, limit, keys }: Deployment): Promise<void> {
  const { store, close } = await openStore(place);
  const admitted = await useUp(deployedLimiters(store, limit), keys);
  await close();
  if (parentPort !== null) return parentPort.postMessage(admitted);
  console.log(JSON.stringify(admitted));
  process.exit();
}

if (isMainThread) {
  const given = process.argv[2];
  if (given !== undefined && given.startsWith("{")) await deploy(JSON.parse(given) as Deployment);
} else if (workerData !== null && typeof workerData === "object" && "keys" in workerData) {
  await deploy(workerData as Deployment);
}
