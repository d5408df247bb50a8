import { checkOptions, errorMessage } from "../../../core/options/checks.ts";
import type { RequestSource } from "../../http/address/client_key.ts";
import { gate } from "../../http/gate/gate.ts";
import type {
  AnyLimiter,
  RateLimitOptions as GateOptions,
} from "../../http/gate/rate_limit_options.ts";
import type { Limit } from "../limit.ts";
import type { RateLimitOptions } from "./rate_limit_middleware.ts";

const ACTION = "create layerRateLimit";

/**
 * Checks the options of `layerRateLimit`: those of the engine as every adapter does, with the limit in
 * the place of a limiter.
 *
 * @throws {TypeError} If an option is of the wrong type, or there is no limit.
 * @throws {RangeError} If an option is out of range, or a policy cannot be told in header fields.
 */
export function checkLayerOptions<R, Request, Info>(
  options: RateLimitOptions<R>,
  source: RequestSource<Request, Info>,
): void {
  checkOptions(ACTION, options);
  const { limit } = options;
  const isChosen = typeof limit === "function";
  if (!isChosen && !isLimit(limit)) {
    throw new TypeError(errorMessage(ACTION, "it needs a limit, such as limit(...)", limit));
  }
  const limiter = isChosen ? limit : { algorithm: limit.algorithm, consume: limit.algorithm.step };
  const checked = { ...options, limiter: limiter as unknown as AnyLimiter };
  gate(checked as unknown as GateOptions<Request, Info>, source);
}

function isLimit(limit: Limit | undefined): boolean {
  return typeof limit?.prefix === "string" && typeof limit.algorithm?.step === "function";
}
