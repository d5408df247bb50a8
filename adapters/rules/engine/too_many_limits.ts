import { errorMessage } from "../../../core/options/checks.ts";

const NAME = "TooManyLimitsError";

/** The error of a request whose rules have more limits together than the store charges at once. */
export function tooManyLimits(most: number, count: number): RangeError {
  const rule = `the rules of a request must have at most ${most} limits together on this store`;
  return Object.assign(new RangeError(errorMessage("decide", rule, count)), { name: NAME });
}

/** Whether an error is of a request that has too many limits. */
export function isTooManyLimits(error: unknown): error is RangeError {
  return error instanceof RangeError && error.name === NAME;
}
