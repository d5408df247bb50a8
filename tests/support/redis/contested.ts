import type { Algorithm } from "../../../core/algorithm.ts";
import {
  all,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../mod.ts";

/** What each algorithm below admits at once. */
export const CONTESTED_LIMIT = 5_000;

/** Every algorithm, with a capacity of 5,000 and so slow that no unit comes back within a test. */
export function contested(): Readonly<Record<string, Algorithm>> {
  const limit = CONTESTED_LIMIT;
  const period = 5_000 * 3_600_000;
  const rate = { limit, period };
  return {
    fixedWindow: fixedWindow({ ...rate, anchor: "first" }) as Algorithm,
    slidingLog: slidingLog(rate) as Algorithm,
    slidingCounter: slidingCounter({ limit, period: 40 * 86_400_000 }) as Algorithm,
    slidingWindow: slidingWindow({ ...rate, precision: period / 1_000 }) as Algorithm,
    tokenBucket: tokenBucket({ limit: 1, period: "1h", burst: limit }) as Algorithm,
    leakyBucket: leakyBucket({ limit: 1, period: "1h", burst: limit }) as Algorithm,
    leakyQueue: leakyQueue({ limit: 1, period: "1h", queue: limit - 1 }) as Algorithm,
    gcra: gcra({ limit: 1, period: "1h", burst: limit }) as Algorithm,
    all: all(
      gcra({ limit: 1, period: "1h", burst: limit }),
      fixedWindow({ limit: 2 * limit, period, anchor: "first" }),
    ) as Algorithm,
  };
}
