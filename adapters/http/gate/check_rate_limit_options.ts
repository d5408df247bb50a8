import {
  checkChoice,
  checkCost,
  checkFunction,
  checkOptions,
  errorMessage,
} from "../../../core/options/checks.ts";
import type { RateLimitOptions } from "./rate_limit_options.ts";

const ACTION = "create rateLimit";

/**
 * Checks the options that are checked nowhere else.
 *
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 */
export function checkRateLimitOptions<Request, Info>(
  options: RateLimitOptions<Request, Info>,
): void {
  checkOptions(ACTION, options);
  const { limiter, cost = 1, jitter = 0, unknownAddress, unit, refund, shadow, exposeHeaders } =
    options;
  if (typeof limiter !== "function" && typeof limiter?.consume !== "function") {
    throw new TypeError(errorMessage(ACTION, "it needs a limiter, such as limiter(...)", limiter));
  }
  if (typeof cost !== "function") checkCost(ACTION, cost, 0);
  if (!(typeof jitter === "number" && jitter >= 0 && jitter < Infinity)) {
    throw new RangeError(errorMessage(ACTION, "jitter must be milliseconds of at least 0", jitter));
  }
  if (unknownAddress !== undefined) {
    checkChoice(ACTION, "unknownAddress", unknownAddress, ["refuse", "admit"]);
  }
  if (unit !== undefined) {
    checkChoice(ACTION, "unit", unit, ["requests", "content-bytes", "concurrent-requests"]);
  }
  if (refund !== undefined && typeof refund !== "function" && !REFUNDS.includes(refund)) {
    const rule = 'refund must be "failed" or "successful" or a function';
    throw new TypeError(errorMessage(ACTION, rule, refund));
  }
  if (shadow !== undefined && typeof shadow !== "boolean" && typeof shadow !== "function") {
    throw new TypeError(errorMessage(ACTION, "shadow must be a boolean or a function", shadow));
  }
  if (exposeHeaders !== undefined && typeof exposeHeaders !== "boolean") {
    throw new TypeError(errorMessage(ACTION, "exposeHeaders must be a boolean", exposeHeaders));
  }
  for (const option of FUNCTIONS) {
    if (options[option] !== undefined) checkFunction(ACTION, option, options[option]);
  }
}

const REFUNDS: readonly string[] = ["failed", "successful"];
const FUNCTIONS = [
  "key",
  "skip",
  "partition",
  "respond",
  "onRefused",
  "onDecision",
  "onFailure",
  "random",
  "now",
] as const;
