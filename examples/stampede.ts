/*
 * The stampede: everybody's counter resets at once, and everybody comes back.
 *
 * 500 clients with a limit of 10 a minute each. A client asks once a second for as long as something
 * is left; then it waits as long as the answer says, and comes back. Under a fixed window all
 * answers name the same instant. Windows that begin with each client's first call, algorithms that
 * slide, and a random delay on top of the wait spread them out.
 *
 *   bun examples/stampede.ts
 */
import process from "node:process";
import { pathToFileURL } from "node:url";

import { type Algorithm, fixedWindow, gcra, slidingLog } from "../mod.ts";

/** A way to limit the clients. */
export interface Crowd {
  /** Its name. */
  readonly name: string;
  /** The limit of each client. */
  readonly algorithm: Algorithm;
  /** The most milliseconds that are added to each wait, at random. */
  readonly jitter: number;
}

const limit = { limit: 10, period: "1m" } as const;

/** The ways that are compared. */
export const CROWDS: readonly Crowd[] = [
  { name: "fixedWindow", algorithm: fixedWindow(limit), jitter: 0 },
  { name: "fixedWindow, jitter 30 s", algorithm: fixedWindow(limit), jitter: 30_000 },
  { name: "fixedWindow, first", algorithm: fixedWindow({ ...limit, anchor: "first" }), jitter: 0 },
  { name: "slidingLog", algorithm: slidingLog(limit), jitter: 0 },
  { name: "gcra", algorithm: gcra({ ...limit, burst: limit.limit }), jitter: 0 },
];

const CLIENTS = 500;
const SECOND = 1_000;

/** Five minutes, in milliseconds. */
export const SPAN = 300_000;

/** How many requests reach the server in each second of five minutes. */
export function requestsPerSecond({ algorithm, jitter }: Crowd): readonly number[] {
  const random = seeded(42);
  const seconds = Array.from({ length: SPAN / SECOND }, () => 0);
  for (let client = 0; client < CLIENTS; client++) {
    let state: unknown = algorithm.initial;
    let at = Math.floor(random() * 60_000);
    while (at < SPAN) {
      seconds[Math.floor(at / SECOND)]!++;
      const [decision, next] = algorithm.step(state, at, 1);
      state = next;
      const exact = decision.allowed ? decision.nextAfter : decision.retryAfter;
      // Header fields have whole seconds, rounded up.
      const wait = Math.ceil(exact / SECOND) * SECOND + Math.floor(jitter * random());
      at += decision.remaining > 0 ? SECOND : Math.max(SECOND, wait);
    }
  }
  return seconds;
}

/** The second from which on every client has used up its first units: the third minute begins. */
export const SETTLED = 120;

/** The requests of the busiest second. */
export function peak(seconds: readonly number[]): number {
  return Math.max(...seconds);
}

/** Random numbers from 0 up to 1, the same at every run (a multiplicative generator, by Lehmer). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = state * 48_271 % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const crowd of CROWDS) {
    const seconds = requestsPerSecond(crowd);
    const settled = peak(seconds.slice(SETTLED));
    console.log(
      `${crowd.name}: at most ${peak(seconds)} requests in a second, ` +
        `${settled} from the third minute on`,
    );
  }
}
