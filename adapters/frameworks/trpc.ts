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
 *   limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })),
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
import { checkOptions, typeError } from "../../core/options/checks.ts";
import type { RequestSource } from "../http/address/client_key.ts";
import { gate } from "../http/gate/gate.ts";
import {
  GATE_OPTIONS,
  type GateSettings,
  type LimitByChoice,
  type LimitByRules,
} from "../http/gate/rate_limit_options.ts";
import { GONE_STATUS } from "../http/gate/refunds.ts";
import { LIMIT_OPTIONS } from "../http/limits/limit_options.ts";

/** The part of tRPC's arguments to a middleware that is needed. */
export interface TrpcCall<Context> {
  /** The context of the call. */
  readonly ctx: Context;
  /** The procedure's path. */
  readonly path: string;
  /** Whether it is a query, a mutation or a subscription. */
  readonly type: string;
  /** Aborted when the client goes away; tRPC 10 has none. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The options of `rateLimit`. They mean the same as in every HTTP adapter; its functions receive
 * the call.
 *
 * Give `limiter` and `key`, or `limits` that each have a `key`, or `rules`. Rules see a call as a
 * request whose method is its type in upper case (`QUERY`, `MUTATION`), and whose path is `/` and
 * the procedure's path; its address is the result of `address`, if that is given. `refund` sees a
 * failed procedure as the status 500.
 */
export type TrpcRateLimitOptions<Call> =
  & Pick<GateSettings<Call>, TrpcSetting>
  & (LimitByChoice<Call> | LimitByRules<Call>);

/** The options beside the limits, without those about responses. */
export type TrpcSetting =
  | "address"
  | "clock"
  | "countsTwice"
  | "ipv6Prefix"
  | "missingKey"
  | "onDecision"
  | "onFailure"
  | "refund"
  | "shadow"
  | "skip"
  | "unknownAddress";

const SETTINGS: readonly TrpcSetting[] = [
  "address",
  "clock",
  "countsTwice",
  "ipv6Prefix",
  "missingKey",
  "onDecision",
  "onFailure",
  "refund",
  "shadow",
  "skip",
  "unknownAddress",
];

/** The options of limits and rules, which are the same as in every adapter. */
const LIMITS = [
  ...Object.keys(LIMIT_OPTIONS) as (keyof typeof LIMIT_OPTIONS)[],
  "descriptors",
  "limits",
  "maxDelay",
  "rules",
] as const;

/** The variables that the middleware adds to the context: extend the type of your context with them. */
export interface TrpcRateLimitContext {
  /** The decision about the call; `undefined` if it was not limited. */
  readonly rateLimit?: Decision | undefined;
}

/** The function that the middleware calls to continue the chain. */
export type TrpcNext<Result> = (
  options: { readonly ctx: TrpcRateLimitContext },
) => Promise<Result>;

const ACTION = "limit procedures";
const OPTIONS = Object.fromEntries(
  [...SETTINGS, ...LIMITS].map((name) => [name, GATE_OPTIONS[name]]),
);

// deno-lint-ignore no-explicit-any
type AnyCall = TrpcCall<any>;

/** Reads what a limit needs from a call. */
const callSource: RequestSource<AnyCall> = {
  address: () => undefined,
  header: () => undefined,
  signal: ({ signal }) => signal,
  method: ({ type }) => type,
  target: ({ path }) => `/${path}`,
};

/**
 * Makes a middleware that limits the rate. A refused call fails with the code `TOO_MANY_REQUESTS`,
 * whose `cause` is a `RateLimitedError` with the decision. If no decision can be made, the call fails
 * with `SERVICE_UNAVAILABLE`; if its key cannot be used, with `BAD_REQUEST`.
 *
 * @throws {TypeError} If an option is of the wrong type, or a limit or its key is missing.
 * @throws {RangeError} If `cost` is not an integer of at least 0.
 */
export function rateLimit<
  // deno-lint-ignore no-explicit-any
  Call extends TrpcCall<any>,
>(
  options: TrpcRateLimitOptions<Call>,
): <Result>(call: Call & { readonly next: TrpcNext<Result> }) => Promise<Result> {
  checkOptions(ACTION, options, OPTIONS);
  const { key, address, rules, limits } = options;
  const isKeyed = limits?.every((limit) => limit?.key !== undefined);
  if ((key ?? address ?? rules) === undefined && !isKeyed) {
    throw typeError(ACTION, "key must be a function", key);
  }
  const decide = gate<Call>({ ...options, headers: false }, callSource as RequestSource<Call>);

  return async function limitRate(call) {
    const { decision, refusal, settle, release } = await decide(call, undefined);
    if (refusal !== undefined) throw refusedCall(call.path, refusal.status, decision);
    try {
      const result = await call.next({ ctx: { rateLimit: decision } });
      settle?.(outcomeOf(call, result as { readonly ok?: boolean; readonly error?: unknown }));
      return result;
    } catch (error) {
      settle?.(outcomeOf(call, { ok: false, error }));
      throw error;
    } finally {
      release?.();
    }
  };
}

/** The outcome of a call. */
function outcomeOf(
  { signal }: AnyCall,
  { ok, error }: { readonly ok?: boolean; readonly error?: unknown },
) {
  if (signal?.aborted) return { status: GONE_STATUS };
  return ok === false ? { status: 500, error } : { status: 200 };
}

/** The codes of tRPC, by status. */
const CODES: Readonly<Record<number, string>> = {
  400: "BAD_REQUEST",
  403: "FORBIDDEN",
  429: "TOO_MANY_REQUESTS",
  431: "BAD_REQUEST",
  499: "CLIENT_CLOSED_REQUEST",
  503: "SERVICE_UNAVAILABLE",
};

/** tRPC identifies its errors by their name, so this works with several copies of tRPC loaded. */
function refusedCall(path: string, status: number, decision: Decision | undefined): Error {
  const code = CODES[status] ?? "INTERNAL_SERVER_ERROR";
  const isUsedUp = status === 429 && decision !== undefined;
  const message = isUsedUp
    ? `Cannot call ${path} because its limit is used up: ${again(decision)}`
    : `Cannot call ${path} as its limit must decide: ${REASONS[status] ?? "it cannot"}`;
  const cause = isUsedUp ? new RateLimitedError(message, decision) : undefined;
  return Object.assign(new Error(message, { cause }), { name: "TRPCError", code });
}

const REASONS: Readonly<Record<number, string>> = {
  400: "the call has no key, or its key is not text",
  403: "the address of the client is not known",
  431: "the key of the call is too long",
  499: "the client has gone away",
  503: "the store does not answer",
};

function again({ retryAfter }: Decision): string {
  const wait = Math.ceil(retryAfter / 1_000);
  return wait === Infinity ? "it will not be admitted" : `try again in ${wait} s`;
}
