/*
 * Assembles the laws of limiters from `laws/` for `tidegate/testing`, so that any implementation of
 * the limiter's interface can be tested with a virtual clock.
 */

import { checkFunction, checkOptions } from "../../core/options/checks.ts";
import type { Law } from "./law.ts";
import { acquireLaws } from "./laws/acquire_laws.ts";
import { callLaws, type MakeLimiter, type TestedLimiter } from "./laws/call_laws.ts";
import { algorithms, subjectArbitrary, type Subjects } from "./arbitraries/subjects.ts";

export type { MakeLimiter, TestedLimiter };

/** The options of the laws of a limiter. */
export interface LimiterLawsOptions {
  /** The algorithms to limit by. */
  readonly subjects?: Subjects | undefined;
  /**
   * Whether the laws of `acquire` are among them: they are without it. They let time pass on the
   * virtual clock, so the limiter's store must answer without waiting for anything real.
   */
  readonly acquire?: boolean | undefined;
}

/**
 * The laws that every limiter keeps: `consume`, `peek`, `refund`, `charge` and `reset` answer as
 * the bare reducer does; `acquire` serves first come, first served, at the exact millisecond; a
 * caller that gives up has taken nothing.
 *
 * @param makeLimiter Makes a limiter.
 * @param options The range of cases to draw from.
 * @returns The laws; each runs by itself under any runner, asynchronously.
 * @throws {TypeError} If `makeLimiter` is no function, such as a limiter itself.
 *
 * @example
 * ```ts
 * import { limiter } from "tidegate";
 * import { limiterLaws } from "tidegate/testing";
 *
 * const laws = limiterLaws((algorithm, clock) => limiter(algorithm, { clock }));
 * for (const law of laws) await law.run({ numRuns: 5 });
 * ```
 */
export function limiterLaws(
  makeLimiter: MakeLimiter,
  options: LimiterLawsOptions = {},
): readonly Law[] {
  checkFunction("make limiterLaws", "makeLimiter", makeLimiter);
  checkOptions<LimiterLawsOptions>("make limiterLaws", options, { subjects: true, acquire: true });
  const { subjects = algorithms(), acquire = true } = options;
  const arbitrary = subjectArbitrary(subjects);
  const calls = callLaws(makeLimiter, arbitrary);
  return acquire ? [...calls, ...acquireLaws(makeLimiter, arbitrary)] : calls;
}
