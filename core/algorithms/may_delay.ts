/*
 * Whether an algorithm delays admitted calls. Callers that give units back must know, because a
 * queue can only give back its newest unit.
 */

import type { Algorithm } from "../algorithm.ts";
import { leavesOf } from "./leaves_of.ts";

const tried = new WeakMap<Algorithm, boolean>();

/**
 * Whether an admitted call may have to wait for its start, as calls of `leakyQueue` do. The units
 * of such a call are a place in a queue, and only the newest place can be given back.
 *
 * An algorithm that does not say how many units may wait is tried: once the rest of its capacity is
 * taken, does the last unit wait?
 */
export function mayDelay(algorithm: Algorithm): boolean {
  return leavesOf(algorithm).some(delays);
}

function delays(algorithm: Algorithm): boolean {
  const { queue } = algorithm.internals ?? {};
  if (queue !== undefined) return queue > 0;
  let waits = tried.get(algorithm);
  if (waits === undefined) tried.set(algorithm, waits = lastWaits(algorithm));
  return waits;
}

function lastWaits(algorithm: Algorithm): boolean {
  const [, state] = algorithm.step(algorithm.initial, 0, Math.max(1, algorithm.capacity - 1));
  const [decision] = algorithm.step(state, 0, 1);
  return decision.delay > 0;
}
