/**
 * Rate limiting for tRPC 11 and 10.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimit, type TrpcCall, type TrpcRateLimitContext } from "tidegate/trpc";
 * import { initTRPC } from "@trpc/server";
 *
 * interface Context extends TrpcRateLimitContext {
 *   readonly user: string;
 * }
 * const t = initTRPC.context<Context>().create();
 * const limited = t.procedure.use(rateLimit<TrpcCall<Context>>({
 *   limiter: limiter(gcra({ limit: 100, period: "1m" })),
 *   key: ({ ctx }) => ctx.user,
 * }));
 * const router = t.router({ left: limited.query(({ ctx }) => ctx.rateLimit?.remaining) });
 * console.log(typeof router.left);
 * ```
 *
 * @module
 */

import type { Decision } from "../../core/decision.ts";
import { RateLimitedError } from "../../core/errors.ts";
import { checkFunction, checkInteger, checkOptions, typeError } from "../../core/options/checks.ts";
import type { AnyLimiter, Awaitable } from "../http/gate/rate_limit_options.ts";

/** What is needed of what tRPC hands over to a middleware. */
export interface TrpcCall<Context> {
  /** The context of the call. */
  readonly ctx: Context;
  /** The procedure's path. */
  readonly path: string;
  /** Whether it is a query, a mutation or a subscription. */
  readonly type: string;
}

/** The options of `rateLimit`; the functions among them are given the call. */
export interface TrpcRateLimitOptions<Call> {
  /** The limiter, or a function that chooses it; `undefined` leaves the call unlimited. */
  readonly limiter: AnyLimiter | ((call: Call) => Awaitable<AnyLimiter | undefined>);
  /** Whom a call is counted for: a user, a tenant, an address of the context. */
  readonly key: (call: Call) => Awaitable<string>;
  /** The units that a call takes; default 1. */
  readonly cost?: number | ((call: Call) => Awaitable<number>) | undefined;
}

/** What the middleware puts on the context; the context's own type names it, to be read. */
export interface TrpcRateLimitContext {
  /** The decision about the call; `undefined` if it was not limited. */
  readonly rateLimit?: Decision | undefined;
}

/** What the middleware calls to go on. */
export type TrpcNext<Result> = (
  options: { readonly ctx: TrpcRateLimitContext },
) => Promise<Result>;

/**
 * Makes a middleware that limits the rate. A refused call fails with the code `TOO_MANY_REQUESTS`,
 * whose `cause` is a `RateLimitedError` with the decision.
 *
 * @param options `limiter` and `key` are required.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If `cost` is no integer of at least 0.
 */
export function rateLimit<
  // deno-lint-ignore no-explicit-any
  Call extends TrpcCall<any>,
>(
  options: TrpcRateLimitOptions<Call>,
): <Result>(call: Call & { readonly next: TrpcNext<Result> }) => Promise<Result> {
  const action = "limit procedures";
  checkOptions<TrpcRateLimitOptions<Call>>(action, options, {
    limiter: true,
    key: true,
    cost(action, option, value) {
      if (typeof value !== "function") checkInteger(action, option, value, 0);
    },
  });
  const { limiter, key, cost = 1 } = options;
  checkFunction(action, "key", key);
  if (typeof limiter !== "function" && typeof limiter?.consume !== "function") {
    throw typeError(action, "limiter must be a limiter or a function", limiter);
  }

  return async function limitRate(call) {
    const chosen = typeof limiter === "function" ? await limiter(call) : limiter;
    if (chosen === undefined) return await call.next({ ctx: { rateLimit: undefined } });
    const units = typeof cost === "function" ? await cost(call) : cost;
    const decision = await chosen.consume(await key(call), units);
    if (!decision.allowed) throw refusal(call.path, decision);
    return await call.next({ ctx: { rateLimit: decision } });
  };
}

/** tRPC knows its errors by their name, so that there may be several copies of it. */
function refusal(path: string, decision: Decision): Error {
  const wait = Math.ceil(decision.retryAfter / 1_000);
  const again = wait === Infinity ? "it costs more than the limit" : `try again in ${wait} s`;
  const message = `Cannot call ${path} as its limit is used up: ${again}`;
  const error = new Error(message, { cause: new RateLimitedError(message, decision) });
  return Object.assign(error, { name: "TRPCError", code: "TOO_MANY_REQUESTS" });
}
