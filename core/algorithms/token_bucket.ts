/*
 * The token bucket. Greedy refill is the arithmetic of `gcra`; interval refill is the same
 * arithmetic on a clock that moves in steps.
 */

import type { Algorithm } from "../algorithm.ts";
import { refuseAll } from "./refuse_all.ts";
import { buildAlgorithm } from "./build_algorithm.ts";
import {
  checkChoice,
  checkExact,
  checkOptions,
  checkRange,
  LAST_INSTANT,
} from "../options/checks.ts";
import {
  arrivalArithmetic,
  type ArrivalState,
  burstAlgorithm,
  unitsAhead,
} from "./arrival_time_algorithm.ts";
import { wholeTicks } from "../arithmetic/ticks.ts";
import { BURST, LIMIT, NAME, type OptionsData, PERIOD } from "../options/options_data.ts";
import { type BurstOptions, RATE_NAMES, readBurst } from "../options/rate_options.ts";

/** The options of `tokenBucket`. */
export interface TokenBucketOptions extends BurstOptions {
  /**
   * `"greedy"` (default) refills continuously at limit / period; `"interval"` adds `limit` tokens
   * at each multiple of the period since the Unix epoch.
   */
  readonly refill?: "greedy" | "interval" | undefined;
}

/** The options of `tokenBucket` as data. */
export const TOKEN_BUCKET_OPTIONS: OptionsData<TokenBucketOptions> = {
  limit: LIMIT,
  period: PERIOD,
  name: NAME,
  burst: BURST,
  refill: {
    kind: "choice",
    choices: ["greedy", "interval"],
    default: "greedy",
    about: "How tokens come: continuously, or a limit of them at each multiple of the period.",
  },
};

const ACTION = "create tokenBucket";

/**
 * The token bucket: it holds up to `burst` tokens, starts full and is refilled at `limit` per
 * `period`; a call takes as many tokens as it costs, or is refused.
 *
 * It admits `cost` when tokens >= cost. Greedy refill admits at most burst + limit * d / period
 * units in any span d; interval refill admits at most burst units, and limit more for each multiple
 * of the period in the span. The same arithmetic as `gcra`: tokens = burst - (TAT - now) / T. The
 * state is one number.
 *
 * Every call takes constant time. Source: RFC 2697, section 3 (greedy refill in small steps).
 *
 * @param options `limit` and `burst`, the size of the bucket, in units; `period` in milliseconds or
 * as text; `refill` is greedy unless given.
 * @throws {TypeError} If an option is missing or of the wrong type.
 * @throws {RangeError} If an option is out of range; if limit is more than burst * period; if with
 * greedy refill
 * burst * period / gcd(limit, period) is 2^53 or more; if with interval refill
 * limit * ceil(2^42 / period) + burst is.
 *
 * @example
 * ```ts
 * import { tokenBucket } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = tokenBucket({ limit: 5, period: "1s", burst: 10, refill: "interval" });
 * const [emptied, state] = algorithm.step(algorithm.initial, 1_400, 10);
 * assert.equal(emptied.remaining, 0);
 * assert.equal(emptied.nextAfter, 600); // five tokens come at 2,000
 *
 * const [later] = algorithm.step(state, 2_000, 1);
 * assert.equal(later.remaining, 4);
 * ```
 */
export function tokenBucket(options: TokenBucketOptions): Algorithm {
  checkOptions(ACTION, options, { ...RATE_NAMES, burst: true, refill: true });
  const { refill = "greedy", ...rate } = options;
  checkChoice(ACTION, "refill", refill, ["greedy", "interval"]);
  return refill === "greedy" ? burstAlgorithm("tokenBucket", rate) : refilledAtIntervals(rate);
}

/** A tick is one token; the clock jumps by `limit` ticks at each multiple of the period. */
function refilledAtIntervals(options: BurstOptions): Algorithm<ArrivalState> {
  const rate = readBurst("tokenBucket", options);
  const { limit, period, burst } = rate;
  const id = ["tokenBucket", limit, period, "interval"] as const;
  if (limit === 0) return refuseAll<ArrivalState>(rate, id, 0);
  checkExact(
    ACTION,
    "limit * ceil(2^42 / period) + burst",
    limit * Math.ceil(LAST_INSTANT / period) + burst,
  );
  checkRange(
    ACTION,
    "2^42 + ceil(burst / limit) * period",
    Math.ceil(burst / limit) * period,
  );
  const scale = wholeTicks(limit, period);
  const mostAhead = unitsAhead(scale, limit, 1);
  return buildAlgorithm<number>({
    ...arrivalArithmetic(scale, 1, burst),
    ...rate,
    mostAhead,
    formula: ["steps", limit, period, 1, burst, mostAhead],
    id,
  }) as Algorithm<ArrivalState>;
}
