/*
 * The engine of every inbound adapter: from a request to a verdict.
 *
 *   request -> skip? -> limiter, key, cost -> decision -> { headers, refusal, settle }
 *
 * Each step calls an option's function, which may answer by a promise, and goes on with its answer.
 * One comes after the other: if two ran at once and both failed, nobody would handle the second
 * failure, and it would end the process.
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
import { failureReport, guarded } from "../../../core/guarded.ts";
import { andThen, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import { checkOptions, typeError } from "../../../core/options/checks.ts";
import { LONGEST_KEY } from "../../../core/options/longest_key.ts";
import { clientKeyReader, type RequestSource } from "../address/client_key.ts";
import { nativePromise } from "../native_promise.ts";
import {
  type AnyLimiter,
  type Awaitable,
  GATE_OPTIONS,
  type RateLimitOptions,
} from "./rate_limit_options.ts";
import { BAD_KEY, GONE, KEY_TOO_LONG, UNKNOWN_ADDRESS } from "./refusal.ts";
import { callStarter } from "./call_starter.ts";
import { keyInTime } from "./key_in_time.ts";
import { type LimitPlan, limitPlan, refuse, UNLIMITED, type Verdict } from "./verdict.ts";

export type { Verdict } from "./verdict.ts";

/** Stores keep text, and half a character is not text. */
const LONE_SURROGATE = /\p{Surrogate}/u;

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
  return gateOf(
    options as RateLimitOptions<unknown, unknown>,
    source as RequestSource<unknown, unknown>,
  );
}

type Options = RateLimitOptions<unknown, unknown>;
const ACTION = "create rateLimit";

function gateOf(options: Options, source: RequestSource<unknown, unknown>): Gate<unknown, unknown> {
  checkOptions<Options>(ACTION, options, GATE_OPTIONS);
  const { limiter, skip, cost = 1, shadow = false } = options;
  if (typeof limiter !== "function" && typeof limiter?.consume !== "function") {
    const lacks = typeof limiter === "object" && limiter !== null ? ": consume is missing" : "";
    throw typeError(ACTION, `it needs a limiter, such as limiter(...)${lacks}`, limiter);
  }
  checkAddress(options);
  const fixed = typeof limiter === "function" ? undefined : limitPlan(limiter, options);
  const plans = new WeakMap<AnyLimiter, LimitPlan>();
  const clientKey = clientKeyReader(options, source);
  const keyOf = options.key ?? clientKey;
  const report = failureReport(options.onFailure);
  // What is answered anyway is not printed.
  const notice = options.onFailure === undefined ? () => {} : report;
  const isShadowed = typeof shadow === "function" ? guarded(shadow, report) : () => shadow;
  const faultOf = keyCheck(options, source, notice);
  const start = callStarter(options, source, report, notice);

  function planOf(limiter: AnyLimiter): LimitPlan {
    let plan = plans.get(limiter);
    if (plan === undefined) plans.set(limiter, plan = limitPlan(limiter, options));
    return plan;
  }

  function choosePlan(request: unknown, info: unknown): MaybePromise<LimitPlan | undefined> {
    if (typeof limiter !== "function") return fixed;
    return andThen(
      limiter(request, info),
      (limiter) => limiter === undefined ? undefined : planOf(limiter),
    );
  }

  function limit(request: unknown, info: unknown, plan: LimitPlan): Awaitable<Verdict> {
    const key = keyOf(request, info);
    return isPromise(key)
      ? keyInTime(key).then((key) => price(request, info, plan, key))
      : price(request, info, plan, key);
  }

  function price(
    request: unknown,
    info: unknown,
    plan: LimitPlan,
    key: string | null | undefined,
  ): Awaitable<Verdict> {
    // A promise is not the answer `true`, and nobody is let through for one.
    const shadowed = isShadowed(request, info) === true;
    const fault = faultOf(key, request, info, shadowed);
    if (fault !== undefined) return shadowed ? UNLIMITED : fault;
    const units = typeof cost === "number" ? cost : cost(request, info);
    return isPromise(units)
      ? Promise.resolve(units).then((units) =>
        start({ request, info, plan, key: key!, units, shadowed })
      )
      : start({ request, info, plan, key: key!, units, shadowed });
  }

  return function decide(request, info) {
    if (skip === undefined && fixed !== undefined) return limit(request, info, fixed);
    return nativePromise(andThen(skip?.(request, info), (skipped) => {
      if (skipped) return UNLIMITED;
      const plan = choosePlan(request, info);
      return andThen(plan, (plan) => plan === undefined ? UNLIMITED : limit(request, info, plan));
    }));
  };
}

/**
 * Requires a way to tell clients apart where the runtime knows no addresses: otherwise every request
 * would be an error.
 */
function checkAddress({ key, address, unknownAddress }: Options): void {
  const given = key ?? address ?? unknownAddress;
  const { userAgent } = (globalThis as { readonly navigator?: { readonly userAgent?: string } })
    .navigator ?? {};
  if (given !== undefined || userAgent !== "Cloudflare-Workers") return;
  const rule = "Workers know no address of their own: it needs key, or address, such as " +
    '(request) => request.headers.get("cf-connecting-ip")';
  throw typeError(ACTION, rule, address);
}

/** Makes what answers to a key that cannot be used; `undefined` if it can. */
function keyCheck(
  { key: keyOf, unknownAddress }: Options,
  source: RequestSource<unknown, unknown>,
  notice: (error: unknown, request: unknown) => void,
) {
  function ofUnknownAddress(request: unknown, info: unknown, shadowed: boolean): Verdict {
    if (unknownAddress === "admit") return UNLIMITED;
    if (unknownAddress === "refuse") return refuse(UNKNOWN_ADDRESS);
    // The address is gone with the connection, and nobody would read an answer.
    if (source.signal(request, info)?.aborted) return refuse(GONE);
    const error = new TypeError(
      "Cannot limit the rate as the address of the client must be known: give `key`, `address` " +
        "or `unknownAddress`",
    );
    if (!shadowed) throw error;
    notice(error, request);
    return UNLIMITED;
  }

  return function faultOf(
    key: string | null | undefined,
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): Verdict | undefined {
    if (key === undefined || key === null || key === "") {
      return unknownAddress === undefined && !(keyOf === undefined && key === undefined)
        ? refuse(BAD_KEY)
        : ofUnknownAddress(request, info, shadowed);
    }
    // A key of another type is the fault of the option, and the limiter says so.
    if (keyOf === undefined || typeof key !== "string") return undefined;
    if (key.length > LONGEST_KEY) return refuse(KEY_TOO_LONG);
    return LONE_SURROGATE.test(key) ? refuse(BAD_KEY) : undefined;
  };
}
