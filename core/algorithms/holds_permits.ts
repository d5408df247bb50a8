import type { Algorithm } from "../algorithm.ts";
import { can } from "./can.ts";
import { typeError } from "../options/checks.ts";

/** Whether an algorithm, or a part of it, is `concurrency`. */
export function holdsPermits(algorithm: Algorithm): boolean {
  return can(algorithm, "permits");
}

/**
 * Requires an algorithm without permits. Units of permits cannot be taken: they are held, and
 * released by their holder.
 *
 * @param verb The name of the call, for the error.
 * @throws {TypeError} If the algorithm has permits; the message names `hold`.
 */
export function requireNoPermits(verb: string, algorithm: Algorithm): void {
  if (!holdsPermits(algorithm)) return;
  const rule = "units of concurrency must be held as permits: call hold, then release the permit";
  throw typeError(verb, rule, algorithm.id);
}
