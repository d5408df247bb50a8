/*
 * How many calls "100 a minute" admits, by algorithm. One client is quiet until two seconds before a
 * minute ends, and then asks 50 times a second for four seconds. Another never stops. Under a fixed
 * window the first gets 200 units within four seconds. Under gcra with a
 * burst of the limit, the second gets 199 within its first minute.
 *
 *   bun examples/window_edge.ts
 */
import process from "node:process";
import { pathToFileURL } from "node:url";

import { type Algorithm, fixedWindow, gcra, slidingCounter, slidingLog } from "../mod.ts";

/** The limits that are compared: all say "100 a minute", and all but the last admit 100 at once. */
export const LIMITS: readonly (readonly [name: string, algorithm: Algorithm])[] = [
  ["fixedWindow", fixedWindow({ limit: 100, period: "1m" })],
  ["slidingCounter", slidingCounter({ limit: 100, period: "1m" })],
  ["slidingLog", slidingLog({ limit: 100, period: "1m" })],
  ["gcra", gcra({ limit: 100, period: "1m", burst: 100 })],
  ["gcra, burst 20", gcra({ limit: 100, period: "1m", burst: 20 })],
];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Two seconds before the second minute ends. */
const START = 2 * MINUTE - 2 * SECOND;

/** The instants at which the client at the edge asks. */
export const AT_THE_EDGE: readonly number[] = every20Milliseconds(4 * SECOND);

/** The instants at which the client that never stops asks. */
export const WITHOUT_END: readonly number[] = every20Milliseconds(2.5 * MINUTE);

function every20Milliseconds(span: number): readonly number[] {
  return Array.from({ length: span / 20 }, (_, index) => START + index * 20);
}

/** The instants at which a client with these requests was admitted: a fold over the reducer. */
export function admittedAt(
  { initial, step }: Algorithm,
  asked: readonly number[],
): readonly number[] {
  const admitted: number[] = [];
  let state: unknown = initial;
  for (const at of asked) {
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
    const [edge, end] = [AT_THE_EDGE, WITHOUT_END].map((asked) =>
      mostInAMinute(admittedAt(algorithm, asked))
    );
    console.log(`${name}: at the edge ${edge} within a minute, without end ${end}`);
  }
}
