import process from "node:process";

import type { Contestant } from "./contestants.ts";

/** The figures of one run. */
export interface Run {
  readonly decisions: number;
  readonly seconds: number;
  /** Milliseconds that the slowest one in a hundred took, or longer. */
  readonly p99: number;
  /** Milliseconds that the slowest one took. */
  readonly longest: number;
  readonly roundTrips: number;
  /** Seconds of the client's processor. */
  readonly client: number;
  /** Seconds of the server's processor, where they were measured. */
  readonly processor?: number;
}

/** The next key of a workload. */
export type Keys = () => string;

/** A closed loop: a number of callers, each of which calls again when it is answered. */
export async function load(
  contestant: Contestant,
  inFlight: number,
  milliseconds: number,
  keys: Keys,
): Promise<Run> {
  const times: number[] = [];
  const before = contestant.roundTrips() ?? 0;
  const spent = process.cpuUsage();
  const start = performance.now();
  const end = start + milliseconds;
  let decisions = 0;
  let longest = 0;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    for (let now = performance.now(); now < end;) {
      await contestant.consume(keys());
      const then = performance.now();
      // Every eighth is enough for a percentile.
      if ((decisions++ & 7) === 0) times.push(then - now);
      if (then - now > longest) longest = then - now;
      now = then;
    }
  }));
  const { user, system } = process.cpuUsage(spent);
  times.sort((a, b) => a - b);
  return {
    decisions,
    seconds: (performance.now() - start) / 1_000,
    client: (user + system) / 1e6,
    longest,
    p99: times[Math.floor(times.length * 0.99)] ?? 0,
    roundTrips: (contestant.roundTrips() ?? before + decisions) - before,
  };
}

/** The same key each time. */
export function hot(): Keys {
  return () => "hot";
}

/** So many keys, each as often as any other. */
export function uniform(count: number): Keys {
  return () => `uniform:${Math.floor(Math.random() * count)}`;
}

/** Keys by Zipf's law: the n-th comes 1 / n as often as the first. */
export function zipf(count: number): Keys {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let n = 0; n < sums.length; n++) sums[n] = sum += 1 / (n + 1);
  const drawn = Array.from({ length: 2 ** 18 }, () => `zipf:${place(Math.random() * sum)}`);
  let next = 0;
  return () => drawn[next++ & (2 ** 18 - 1)]!;

  function place(value: number): number {
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sums[middle]! < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The keys that callers ask for, by name. */
export const WORKLOADS: Readonly<
  Record<"hot" | "zipf" | "zipf of a million" | "200,000 alike", () => Keys>
> = {
  hot,
  zipf: () => zipf(10_000),
  "zipf of a million": () => zipf(1_000_000),
  "200,000 alike": () => uniform(200_000),
};

/** The name of a workload. */
export type Workload = keyof typeof WORKLOADS;
