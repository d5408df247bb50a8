import type { Algorithm } from "../algorithm.ts";
import { LAST_INSTANT } from "../options/checks.ts";
import type { StateAt } from "./wrapped_algorithm.ts";

/** An admission to come: the state after it, and when it is. */
export interface Projection extends StateAt {
  /** Milliseconds until the call starts. */
  readonly wait: number;
}

/** Admits a call as soon as it can be, if nothing else happens before. */
export function projectAdmission(
  algorithm: Algorithm,
  from: StateAt,
  now: number,
  cost: number,
): Projection {
  let at = Math.max(from.at, now);
  if (at > LAST_INSTANT) return { state: from.state, at: Infinity, wait: Infinity };
  let [decision, state] = algorithm.step(from.state, at, cost);
  if (!decision.allowed) {
    at += decision.retryAfter;
    if (!(at <= LAST_INSTANT)) return { state: from.state, at: Infinity, wait: Infinity };
    [decision, state] = algorithm.step(from.state, at, cost);
  }
  return { state, at, wait: at - now + decision.delay };
}
