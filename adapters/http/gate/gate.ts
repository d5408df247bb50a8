/*
 * The engine of every inbound adapter: from a request to a verdict.
 *
 *   request -> skip? -> limiter, key, cost -> decision -> { headers, refusal, settle }
 *                    decide_request.ts                            verdict.ts
 *
 * The adapters differ in how they read a request and how they write the verdict down, and in
 * nothing else. All checks and all that does not depend on the request are done when the gate is
 * made. With a limiter that answers at once, and options that do, the verdict is a value and no
 * promise is made.
 *
 * Keys come from clients, so nothing that they send is an error: a key that is missing, empty or not
 * text is answered with a 400. What `limiter`, `key`, `cost` and `skip` throw is the adapter's to
 * pass on, as nothing was decided; a store that cannot decide is a 503. The other functions of the
 * options change no verdict by failing.
 */
import type { RequestSource } from "../address/client_key.ts";
import { nativePromise } from "../native_promise.ts";
import { decideRequest } from "./decide_request.ts";
import { gateSettings } from "./gate_settings.ts";
import type { RateLimitOptions } from "./rate_limit_options.ts";
import type { Verdict } from "./verdict.ts";

export type { Verdict } from "./verdict.ts";

/** Decides about requests; at once if the limiter and the options answer at once. */
export type Gate<Request, Info = undefined> = (
  request: Request,
  info: Info,
) => Verdict | Promise<Verdict>;

/**
 * Makes the engine of an adapter; also for frameworks that have no adapter here.
 *
 * @param options The options of `rateLimit`.
 * @param source How to read a request of the framework.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { gate } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const decide = gate<{ from: string }>(
 *   { limiter: limiter(gcra({ limit: 1, period: "1m" })) },
 *   { address: ({ from }) => from, header: () => null, signal: () => undefined },
 * );
 *
 * assert.equal((await decide({ from: "192.0.2.7" }, undefined)).refusal, undefined);
 * assert.equal((await decide({ from: "192.0.2.7" }, undefined)).refusal?.status, 429);
 * assert.equal((await decide({ from: "192.0.2.8" }, undefined)).refusal, undefined);
 * ```
 */
export function gate<Request, Info = undefined>(
  options: RateLimitOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): Gate<Request, Info> {
  const settings = gateSettings(
    options as RateLimitOptions<unknown, unknown>,
    source as RequestSource<unknown, unknown>,
  );
  return (request, info) => nativePromise(decideRequest(settings, request, info));
}
