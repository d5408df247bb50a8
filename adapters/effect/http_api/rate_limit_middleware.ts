/*
 * The middleware of HttpApi. Its options are those of every HTTP adapter, with a limit in the place of
 * a limiter, and effects in the place of functions.
 */
import * as Clock from "effect/Clock";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint";
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup";
import * as Layer from "effect/Layer";
import * as Option from "effect/Option";

import { checkOptions, typeError } from "../../../core/options/checks.ts";
import type { RequestSource } from "../../http/address/client_key.ts";
import { applyHeaders } from "../../http/fields/apply_headers.ts";
import type { HeaderField } from "../../http/fields/header_writer.ts";
import { gate, type Verdict } from "../../http/gate/gate.ts";
import {
  type AnyLimiter,
  GATE_OPTIONS,
  type Outcome,
  type RateLimitOptions as GateOptions,
} from "../../http/gate/rate_limit_options.ts";
import { GONE_STATUS } from "../../http/gate/refunds.ts";
import type { Refusal } from "../../http/gate/refusal.ts";
import { fetchOutcome } from "../../http/servers/fetch_response.ts";
import { type Decision, withDurations } from "../decision.ts";
import type { Limit } from "../limit.ts";
import { type LimitMetrics, limitMetrics } from "../limit_metrics.ts";
import {
  HttpApiMiddleware,
  HttpEffect,
  HttpServerRequest,
  HttpServerResponse,
} from "../needs_effect_4_1.ts";
import { RateLimiter } from "../rate_limiter.ts";
import { QuotaExceeded, TemporaryReducedCapacity } from "./rate_limit_problems.ts";

/** Where a request goes. */
export interface Route {
  /** The endpoint. */
  readonly endpoint: HttpApiEndpoint.Top;
  /** Its group. */
  readonly group: HttpApiGroup.Top;
}

/** A value, or an effect that finds it. */
export type Found<A, R> = A | Effect.Effect<A, never, R>;

/**
 * The options of `layerRateLimit`, which mean what they mean in every HTTP adapter; only `limit` is
 * required.
 *
 * @typeParam R What the effects among the options need.
 */
export interface RateLimitOptions<R = never> extends
  Omit<
    GateOptions<HttpServerRequest.HttpServerRequest, Route>,
    | "clock"
    | "cost"
    | "descriptors"
    | "key"
    | "limiter"
    | "limits"
    | "now"
    | "onDecision"
    | "onFailure"
    | "onRefused"
    | "policy"
    | "prefix"
    | "replaces"
    | "respond"
    | "rules"
    | "skip"
    | "store"
  > {
  /** The limit, or a function that chooses one; `undefined` lets the request pass. */
  readonly limit:
    | Limit
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Limit | undefined);
  /**
   * The owner of the units; default the client's address. A request without a key is refused with a
   * 400.
   */
  readonly key?:
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Found<string | undefined, R>)
    | undefined;
  /** Units that a request takes; default 1. */
  readonly cost?:
    | number
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Found<number, R>)
    | undefined;
  /** Which requests pass without a limit. */
  readonly skip?:
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Found<boolean, R>)
    | undefined;
}

/** A request as Effect's server reads it. */
type Request = HttpServerRequest.HttpServerRequest;

/** The gate's data beside a request. */
interface Info extends Route {
  readonly limiter: AnyLimiter;
  readonly key: string | undefined;
  readonly cost: number;
  readonly signal: AbortSignal;
}

/** The middleware in the types of an API: its errors, and that it needs nothing. */
export interface RateLimitConfig {
  /** It needs no other service. */
  readonly requires: never;
  /** It provides none that must be provided. */
  readonly provides: never;
  /** The problems that it answers with. */
  readonly error: readonly [typeof QuotaExceeded, typeof TemporaryReducedCapacity];
  /** Nothing is added to clients. */
  readonly clientError: never;
  /** Clients need no part of it. */
  readonly requiredForClient: false;
  /** It is no security middleware. */
  readonly security: never;
}

/** The identifier of a middleware, with its configuration. */
export type MiddlewareId = {
  readonly [Key in keyof HttpApiMiddleware.AnyId]: RateLimitConfig;
};

/** The middleware of HttpApi that puts endpoints, groups or a whole API under a limit. */
export interface RateLimit extends MiddlewareId {}

/**
 * The service key of the middleware: `.middleware(RateLimit)` on an endpoint, a group or an API;
 * `layerRateLimit(options)` provides it.
 */
export const RateLimit: HttpApiMiddleware.ServiceClass<
  RateLimit,
  "tidegate/effect/RateLimit",
  RateLimitConfig
> = HttpApiMiddleware.Service<RateLimit>()("tidegate/effect/RateLimit", {
  error: [QuotaExceeded, TemporaryReducedCapacity] as const,
});

/** The decision on the request at hand, for handlers; `undefined` if it was not limited. */
export const RateLimitDecision: Context.Reference<Decision | undefined> = Context.Reference(
  "tidegate/effect/RateLimitDecision",
  { defaultValue: (): Decision | undefined => undefined },
);

/**
 * The middleware `RateLimit`: requests within the limit go on, with the `RateLimit` fields on their
 * responses; others are answered with a 429, `Retry-After` and a problem as JSON. A refusal by the
 * failure policy is a 503, and so is a store that cannot decide, whose error is logged.
 *
 * Without `key` a client is its address as the server knows it; with `trustedProxies` the address
 * that those vouch for. `RateLimitDecision` holds the decision in handlers.
 *
 * @throws {TypeError} If an option is of the wrong type, or there is no limit.
 * @throws {RangeError} If an option is out of range, or header fields cannot express a policy.
 *
 * @example
 * ```ts
 * import { Layer } from "effect";
 * import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api";
 * import { gcra } from "tidegate";
 * import { layerMemory, layerRateLimit, limit, RateLimit } from "tidegate/effect";
 *
 * const users = HttpApiGroup.make("users")
 *   .add(HttpApiEndpoint.get("list", "/users"))
 *   .middleware(RateLimit);
 * const api = HttpApi.make("api").add(users);
 *
 * const limited = layerRateLimit({
 *   limit: limit("api", gcra({ limit: 100, period: "1m" })),
 *   key: (request) => request.headers["x-api-key"] ?? "nobody",
 * });
 * const server = HttpApiBuilder.layer(api).pipe(
 *   Layer.provide(limited),
 *   Layer.provide(layerMemory()),
 * );
 * ```
 */
export function layerRateLimit<R = never>(
  options: RateLimitOptions<R>,
): Layer.Layer<RateLimit, never, RateLimiter | R> {
  checkLayerOptions(options);
  const make = Effect.gen(function* () {
    const limitRequest = yield* limitRequests(options);
    const services = yield* Effect.context<R>();
    const middleware: HttpApiMiddleware.HttpApiMiddleware<never, RateLimitConfig["error"], never> =
      Effect.fnUntraced(function* (httpEffect, route) {
        const request = yield* HttpServerRequest.HttpServerRequest;
        // The context of the request, such as its span, goes before the context that the server was
        // started with.
        const verdict = yield* Effect.updateContext(
          limitRequest(request, route),
          (own: Context.Context<never>) => Context.merge(services, own),
        );
        if (verdict === undefined) return yield* httpEffect;
        yield* HttpEffect.appendPreResponseHandler((_request, response) => {
          verdict.settle?.(outcomeOf(request, response));
          verdict.release?.();
          return Effect.succeed(withFields(response, verdict.headers));
        });
        if (verdict.refusal !== undefined) return yield* refused(verdict.refusal);
        const decision = verdict.decision && withDurations(verdict.decision);
        return yield* Effect.provideService(httpEffect, RateLimitDecision, decision);
      });
    return middleware;
  });
  return Layer.effect(RateLimit, make);
}

const ACTION = "create layerRateLimit";
const { limiter: _limiter, respond: _respond, onRefused: _onRefused, ...OTHERS } = GATE_OPTIONS;
const { onDecision: _onDecision, onFailure: _onFailure, now: _now, ...LIMITED } = OTHERS;
const { limits: _limits, policy: _policy, rules: _rules, descriptors: _descriptors, ...ON_STORE } =
  LIMITED;
const { store: _store, prefix: _prefix, clock: _clock, replaces: _replaces, ...SHARED } = ON_STORE;

/**
 * Checks the options of `layerRateLimit`: like every adapter, it checks the gate's options, with
 * the limit in the place of a limiter.
 *
 * @throws {TypeError} If an option is of the wrong type, or there is no limit.
 * @throws {RangeError} If an option is out of range, or header fields cannot express a policy.
 */
function checkLayerOptions<R>(options: RateLimitOptions<R>): void {
  checkOptions<RateLimitOptions<R>>(ACTION, options, { ...SHARED, limit: true });
  const { limit, ...others } = options;
  const isChosen = typeof limit === "function";
  if (!isChosen && !isLimit(limit)) {
    throw typeError(ACTION, "it needs a limit, such as limit(...)", limit);
  }
  const limiter = isChosen ? limit : { algorithm: limit.algorithm, consume: limit.algorithm.step };
  const checked = { ...others, limiter: limiter as unknown as AnyLimiter };
  gate(checked as unknown as GateOptions<Request, Info>, requestSource);
}

/** How requests are read. */
const requestSource: RequestSource<Request, Info> = {
  address: ({ peerAddress }) => Option.getOrUndefined(peerAddress),
  trustedAddress: ({ remoteAddress }) => Option.getOrUndefined(remoteAddress),
  header: ({ headers }, name) => headers[name],
  signal: (_request, { signal }) => signal,
};

function isLimit(limit: Limit | undefined): boolean {
  return typeof limit?.prefix === "string" && typeof limit.algorithm?.step === "function";
}

/** Runs the options, then the gate; `undefined` if the request is not limited. */
type LimitRequest<R> = (
  request: Request,
  route: Route,
) => Effect.Effect<Verdict | undefined, never, R>;

/** Makes the gate of a layer; what goes wrong in it is logged in the context of the request. */
function limitRequests<R>(
  options: RateLimitOptions<R>,
): Effect.Effect<LimitRequest<R>, never, RateLimiter> {
  const { limit, skip, key, cost = 1, ...rest } = options;
  /** The context of each request that is being decided, for what is logged later. */
  const contexts = new WeakMap<Request, Context.Context<never>>();
  const metrics = new WeakMap<Limit, LimitMetrics>();

  /** Logs what went wrong with a request, be it answered by then or not. */
  function logFailure(error: unknown, request: Request): void {
    const logging = Effect.logError("Cannot limit the rate of a request", error);
    Effect.runForkWith(contexts.get(request)!)(logging);
  }

  return Effect.gen(function* () {
    const clock = yield* Clock.Clock;
    const limiter = yield* RateLimiter;
    const decide = gate<Request, Info>({
      ...rest,
      limiter: (_request, info) => info.limiter,
      key: key === undefined ? undefined : (_request, info) => info.key,
      cost: (_request, info) => info.cost,
      onFailure: logFailure,
      now: () => clock.currentTimeMillisUnsafe(),
    }, requestSource);

    return Effect.fnUntraced(function* (request, { endpoint, group }) {
      const route: Route = { endpoint, group };
      const chosen = typeof limit === "function" ? limit(request, route) : limit;
      if (chosen === undefined) return undefined;
      if (skip !== undefined && (yield* found(skip(request, route)))) return undefined;
      const info = {
        ...route,
        limiter: yield* limiter.limiterOf(chosen),
        key: key === undefined ? undefined : yield* found(key(request, route)),
        cost: typeof cost === "number" ? cost : yield* found(cost(request, route)),
      };
      const context = yield* Effect.context();
      contexts.set(request, context);
      const verdict = yield* verdictOf((signal) => decide(request, { ...info, signal }));
      if (verdict.decision !== undefined) {
        const own = metrics.get(chosen) ?? limitMetrics(chosen.prefix);
        metrics.set(chosen, own);
        own.count(verdict.decision, info.cost, context);
      }
      return verdict;
    });
  });
}

/**
 * The verdict. An interrupt aborts the wait, and lets the call end. A client that goes away in that
 * time falls under the rule of refunds, like one that goes away later.
 */
function verdictOf(
  call: (signal: AbortSignal) => Verdict | Promise<Verdict>,
): Effect.Effect<Verdict> {
  return Effect.callback<Verdict>((resume, signal) => {
    const verdict = call(signal);
    if (!(verdict instanceof Promise)) return resume(Effect.succeed(verdict));
    verdict.then(
      (verdict) => resume(Effect.succeed(verdict)),
      (cause) => resume(Effect.die(cause)),
    );
    return Effect.promise(() => verdict.then(goneBefore, noOne));
  });
}

function found<A, R>(value: Found<A, R>): Effect.Effect<A, never, R> {
  return Effect.isEffect(value) ? value : Effect.succeed(value);
}

function goneBefore({ settle, release }: Verdict): void {
  settle?.({ status: GONE_STATUS });
  release?.();
}

function noOne(): void {}

/**
 * How a request ended: where the client has gone away, that is how, whatever the handler made of
 * it.
 */
function outcomeOf(
  { source }: Request,
  { status }: HttpServerResponse.HttpServerResponse,
): Outcome {
  // A request of a web handler, or of a server of Node's kind.
  const { signal, socket } = source as { signal?: AbortSignal; socket?: { destroyed?: boolean } };
  return socket?.destroyed === true ? { status: GONE_STATUS } : fetchOutcome({ status }, signal);
}

/** The response with the verdict's fields, beside those of others. */
function withFields(
  response: HttpServerResponse.HttpServerResponse,
  fields: readonly HeaderField[],
): HttpServerResponse.HttpServerResponse {
  const own = new Map<string, string>();
  applyHeaders({
    get: (name) => own.get(name) ?? response.headers[name.toLowerCase()],
    set: (name, value) => own.set(name, value),
  }, fields);
  return HttpServerResponse.setHeaders(response, own);
}

/** Fails with a 429 or 503 as a problem of the API; returns the response of any other refusal. */
function refused({ status, body }: Refusal): Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  QuotaExceeded | TemporaryReducedCapacity
> {
  if (status === 429) return Effect.fail(new QuotaExceeded(violatedBy(body)));
  if (status === 503) return Effect.fail(new TemporaryReducedCapacity(violatedBy(body)));
  // An unknown address, or a bad key: no problem of the API, and not one to be declared by it.
  return Effect.succeed(
    HttpServerResponse.text(body, { status, contentType: "application/problem+json" }),
  );
}

function violatedBy(body: string): { readonly "violated-policies": readonly string[] } {
  return { "violated-policies": JSON.parse(body)["violated-policies"] ?? [] };
}
