/*
 * The burst at the edge of a window, and which algorithms do not have it.
 *
 * A client is quiet until two seconds before a minute ends, then asks 50 times a second for four
 * seconds. Under a fixed window of 100 a minute it gets 100 units in the old minute and 100 in the
 * new one, all within four seconds.
 *
 *   bun examples/window_edge.ts
 */
import process from "node:process";
import { pathToFileURL } from "node:url";

import { type Algorithm, fixedWindow, gcra, slidingCounter, slidingLog } from "../mod.ts";

/** The limits that are compared: all of them say "100 a minute". */
export const LIMITS: readonly (readonly [name: string, algorithm: Algorithm])[] = [
  ["fixedWindow", fixedWindow({ limit: 100, period: "1m" })],
  ["slidingCounter", slidingCounter({ limit: 100, period: "1m" })],
  ["slidingLog", slidingLog({ limit: 100, period: "1m" })],
  ["gcra, burst 20", gcra({ limit: 100, period: "1m", burst: 20 })],
];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** When the client asks: 200 times, around the end of the second minute. */
export const ASKED: readonly number[] = Array.from(
  { length: 200 },
  (_, place) => 2 * MINUTE - 2 * SECOND + place * 20,
);

/** The instants at which the client was let in: a fold over the reducer. */
export function admittedAt({ initial, step }: Algorithm): readonly number[] {
  const admitted: number[] = [];
  let state: unknown = initial;
  for (const at of ASKED) {
    const [decision, next] = step(state, at, 1);
    state = next;
    if (decision.allowed) admitted.push(at);
  }
  return admitted;
}

/** The most units that were admitted within any span of one minute. */
export function mostInAMinute(admitted: readonly number[]): number {
  return Math.max(
    0,
    ...admitted.map((from) => admitted.filter((at) => at >= from && at < from + MINUTE).length),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const [name, algorithm] of LIMITS) {
    console.log(`${name}: at most ${mostInAMinute(admittedAt(algorithm))} within a minute`);
  }
}
