/*
 * The smallest limit that refuses nothing.
 *
 * A client that a limit never refuses is never refused by a higher one either: all of its requests
 * were admitted, and would be again. So each client has a smallest limit, which bisection finds,
 * and the largest of these limits refuses nobody.
 */

import type { Algorithm } from "../../mod.ts";
import { type ClientDecider, clientDecider } from "./decide_client.ts";
import { type ClientRequests, eachClient, type Trace } from "./log/trace.ts";

/** The decider of an algorithm with a limit. */
export type DeciderOf = (limit: number) => ClientDecider;

/** The deciders of an algorithm; low limits, which most clients need, are kept. */
export function decidersOf(make: (limit: number) => Algorithm): DeciderOf {
  const made = new Map<number, ClientDecider>();
  return (limit) => {
    let decider = made.get(limit);
    if (decider === undefined) {
      decider = clientDecider(make(limit));
      if (limit <= 4_096) made.set(limit, decider);
    }
    return decider;
  };
}

/** The smallest limit from `least` to `most` that never refuses a client; `Infinity` if none. */
export function smallestLimit(
  deciderOf: DeciderOf,
  least: number,
  most: number,
  requests: ClientRequests,
): number {
  const refuses = (limit: number) => deciderOf(limit).refusals(requests, 1) > 0;
  if (!refuses(least)) return least;
  let tooLow = least;
  let enough = Math.min(2 * least, most);
  while (enough > tooLow && refuses(enough)) {
    tooLow = enough;
    enough = Math.min(2 * tooLow, most);
  }
  if (enough === tooLow) return Infinity;
  while (enough - tooLow > 1) {
    const middle = tooLow + Math.floor((enough - tooLow) / 2);
    if (refuses(middle)) tooLow = middle;
    else enough = middle;
  }
  return enough;
}

/** The units of the busiest client: a limit of as many refuses nobody. */
export function largestUse(trace: Trace): number {
  let most = 1;
  eachClient(trace, (_client, { at, cost }) => {
    most = Math.max(most, cost?.reduce((sum, units) => sum + units, 0) ?? at.length);
  });
  return most;
}
