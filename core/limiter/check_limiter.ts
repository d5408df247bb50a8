import type { Algorithm } from "../algorithm.ts";
import {
  checkChoice,
  checkFunction,
  checkInteger,
  checkOptions,
  checkStore,
  checkText,
  errorMessage,
} from "../options/checks.ts";
import { checkClock } from "../clock.ts";
import type { LimiterOptions } from "./limiter.ts";

/** Checks the algorithm, the options, and that a store is one. */
export function checkLimiter(
  algorithm: Algorithm,
  options: LimiterOptions & { readonly store?: unknown },
): void {
  const action = "create limiter";
  if (typeof algorithm?.step !== "function") {
    throw new TypeError(
      errorMessage(action, "it needs an algorithm, such as gcra(...)", algorithm),
    );
  }
  checkOptions(action, options);
  if (options.store !== undefined) checkStore(action, "store", options.store);
  checkClock(action, options.clock);
  const { replaces, maxWaiting } = options;
  for (const option of ["onDecision", "onFailure"] as const) {
    if (options[option] !== undefined) checkFunction(action, option, options[option]);
  }
  if (maxWaiting !== undefined) checkInteger(action, "maxWaiting", maxWaiting, 1);
  if (replaces === undefined) return;
  if (typeof replaces?.algorithm?.step !== "function") {
    throw new TypeError(errorMessage(action, "replaces.algorithm must be an algorithm", replaces));
  }
  checkChoice(action, "replaces.mode", replaces.mode, ["keep", "proportional"]);
  if (replaces.algorithm.id === algorithm.id) {
    const rule = "replaces.algorithm must have other options than the limiter's";
    throw new TypeError(errorMessage(action, rule, algorithm.id));
  }
}

/** Requires the prefix that goes with a store. */
export function checkPrefix(prefix: unknown): asserts prefix is string {
  checkText("create limiter", "prefix", prefix);
}
