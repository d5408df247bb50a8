/*
 * Whether an algorithm delays admitted calls. Callers that give units back must know, because a
 * queue can only give back its newest unit.
 */

import type { Algorithm } from "../algorithm.ts";
import { partsOf } from "./parts_of.ts";

const known = new WeakMap<Algorithm, boolean>();

/**
 * Whether an admitted call may have to wait for its start, as calls of `leakyQueue` do. The units
 * of such a call are a place in a queue, and only the newest place can be given back.
 *
 * The reducer is pure, so this function simply tries it: once the rest of the capacity is taken,
 * does the last unit wait? It tries each part of an `all` by itself, because another part may
 * refuse the second call.
 */
export function mayDelay(algorithm: Algorithm): boolean {
  const before = known.get(algorithm);
  if (before !== undefined) return before;
  const parts = partsOf(algorithm);
  const delays = parts === undefined ? lastWaits(algorithm) : parts.some(mayDelay);
  known.set(algorithm, delays);
  return delays;
}

function lastWaits(algorithm: Algorithm): boolean {
  const [, state] = algorithm.step(algorithm.initial, 0, Math.max(1, algorithm.capacity - 1));
  const [decision] = algorithm.step(state, 0, 1);
  return decision.delay > 0;
}
