import type { Algorithm } from "../../../core/algorithm.ts";
import { all } from "../../../core/algorithms/all.ts";
import type { Decision } from "../../../core/decision.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import { withoutRefunds } from "../../../core/limiter/wrapped_algorithm.ts";
import type { AnyLimiter } from "./rate_limit_options.ts";

/**
 * Gives units back some time after they were taken, as far as they are there.
 *
 * When a key would have been fresh again, nothing of them is left. To give them back all the same
 * would be to give what later calls have taken: those of the next window. Of several limits in one
 * each is treated by itself, as units of a second are gone long before those of a day.
 *
 * @param decision The decision by which they were taken.
 * @param passed Milliseconds since then.
 * @returns What the store answers.
 */
export function refundUnits(
  limiter: AnyLimiter,
  key: string,
  units: number,
  decision: Decision,
  passed: number,
): unknown {
  if (passed >= decision.resetAfter) return undefined;
  const internals = internalsOf(limiter);
  const algorithm = withoutExpiredParts(limiter.algorithm, decision, passed);
  if (algorithm === limiter.algorithm || internals === undefined) {
    return limiter.refund(key, units);
  }
  return internals.run(key, algorithm, -units);
}

/** The same algorithm, but parts that would be fresh by now give nothing back. */
function withoutExpiredParts(algorithm: Algorithm, decision: Decision, passed: number): Algorithm {
  if (passed >= decision.resetAfter) return withoutRefunds(algorithm);
  const parts = algorithm.internals?.parts;
  if (parts === undefined || decision.parts?.length !== parts.length) return algorithm;
  const kept = parts.map((part, place) =>
    withoutExpiredParts(part, decision.parts![place]!, passed)
  );
  return kept.every((part, place) => part === parts[place]) ? algorithm : all(...kept);
}
