import type { Algorithm } from "../algorithm.ts";
import { mayDelay } from "../algorithms/may_delay.ts";
import type { Decision } from "../decision.ts";

/**
 * Milliseconds until the queue that delays calls is empty: in an `all`, the queues of its parts. An
 * algorithm without a queue is empty when its key is fresh.
 */
export function queueResetAfter(algorithm: Algorithm, { resetAfter, parts }: Decision): number {
  const algorithms = algorithm.internals?.parts;
  if (algorithms === undefined || parts === undefined || !mayDelay(algorithm)) return resetAfter;
  const waits = algorithms.map((part, index) =>
    mayDelay(part) ? queueResetAfter(part, parts[index]!) : 0
  );
  return Math.max(...waits);
}
