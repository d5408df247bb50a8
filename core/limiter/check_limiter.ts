/*
 * Checks the arguments of a limiter when it is made, so that a mistake fails at startup and not at
 * the first call. Adapters that make limiters share these checks.
 */

import type { Algorithm } from "../algorithm.ts";
import { haveLikeParts } from "../carry_over.ts";
import {
  checkChoice,
  checkFunction,
  checkInteger,
  checkOptions,
  checkStore,
  checkText,
  type OptionNames,
  typeError,
} from "../options/checks.ts";
import type { OlderOptions } from "../store.ts";
import { olderOptions } from "./limiter.ts";
import type { LimiterOptions, StoreLimiterOptions } from "./limiter_types.ts";

const ACTION = "create limiter";
const OPTIONS: OptionNames<StoreLimiterOptions> = {
  store: checkStore,
  prefix: true,
  clock: checkFunction,
  onDecision: checkFunction,
  onBlock: checkFunction,
  onFailure: checkFunction,
  replaces: true,
  maxWaiting: (action, option, value) => checkInteger(action, option, value, 1),
};

/** Checks the algorithm and the options of a limiter, except its prefix. */
export function checkLimiter(
  algorithm: Algorithm,
  options: LimiterOptions & { readonly store?: unknown },
): void {
  if (typeof algorithm?.step !== "function") {
    throw typeError(ACTION, "it needs an algorithm, such as gcra(...)", algorithm);
  }
  checkOptions(ACTION, options, OPTIONS);
  for (const replaces of olderOptions(options.replaces)) checkReplaces(algorithm, replaces);
}

/** Checks older options that those of the limiter replace. */
function checkReplaces(algorithm: Algorithm, replaces: OlderOptions): void {
  if (typeof replaces?.algorithm?.step !== "function") {
    throw typeError(ACTION, "replaces.algorithm must be an algorithm", replaces);
  }
  checkChoice(ACTION, "replaces.mode", replaces.mode, ["keep", "proportional"]);
  if (haveLikeParts(replaces.algorithm, algorithm)) return;
  const rule = "replaces.algorithm must have the parts that the limiter's has, in the same order";
  throw typeError(ACTION, rule, replaces.algorithm.id);
}

/** Requires the prefix that goes with a store. */
export function checkPrefix(prefix: unknown): asserts prefix is string {
  checkText(ACTION, "prefix", prefix);
}
