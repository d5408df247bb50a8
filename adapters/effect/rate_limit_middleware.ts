/*
 * Rate limiting for HttpApi, on the engine that all HTTP adapters share.
 *
 * The engine reads a request and answers a verdict; here the limit is bound to the fiber's clock
 * first, and key and cost may be effects. The header fields are set on the response just before it
 * is sent, be it the handler's or the problem. A client that goes away interrupts the fiber, which
 * aborts what the engine waits for.
 */

import * as Clock from "effect/Clock";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint";
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup";
import * as Layer from "effect/Layer";
import * as Option from "effect/Option";

import type { Decision as CoreDecision } from "../../core/decision.ts";
import { applyHeaders } from "../http/apply_headers.ts";
import { fetchOutcome } from "../http/fetch_outcome.ts";
import { type Gate, gate, type Verdict } from "../http/gate.ts";
import type { HeaderField } from "../http/header_writer.ts";
import type { AnyLimiter, Outcome, RateLimitOptions as GateOptions } from "../http/options.ts";
import type { RequestSource } from "../http/client_key.ts";
import { GONE_STATUS } from "../http/refund.ts";
import type { Refusal } from "../http/refusal.ts";
import { checkLayerOptions } from "./check_layer_options.ts";
import { type Decision, withDurations } from "./decision.ts";
import type { Limit } from "./limit.ts";
import { type LimitMetrics, limitMetrics } from "./limit_metrics.ts";
import {
  HttpApiMiddleware,
  HttpEffect,
  HttpServerRequest,
  HttpServerResponse,
} from "./needs_effect_4_1.ts";
import { QuotaExceeded, TemporaryReducedCapacity } from "./rate_limit_problems.ts";
import { RateLimiter } from "./rate_limiter.ts";

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
  Pick<
    GateOptions<HttpServerRequest.HttpServerRequest, Route>,
    | "address"
    | "exposeHeaders"
    | "forwardedHeader"
    | "headers"
    | "ipv6Prefix"
    | "jitter"
    | "partition"
    | "random"
    | "refund"
    | "shadow"
    | "trustedProxies"
    | "unit"
    | "unknownAddress"
  > {
  /** The limit, or a function that chooses one; `undefined` lets the request pass. */
  readonly limit:
    | Limit
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Limit | undefined);
  /** Whose units; default the client's address. A request without a key is refused with a 400. */
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

/** What the middleware is to the types of an API: its errors, and that it needs nothing. */
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

/** What the engine is given beside a request. */
interface Info extends Route {
  readonly limiter: AnyLimiter;
  readonly key: string | undefined;
  readonly cost: number;
  readonly signal: AbortSignal;
}

type Request = HttpServerRequest.HttpServerRequest;

/**
 * The middleware `RateLimit`: requests within the limit go on, with the `RateLimit` fields on their
 * responses; others are answered with a 429, `Retry-After` and a problem as JSON. A refusal by the
 * failure policy is a 503, and so is a store that cannot decide, whose error is logged.
 *
 * Without `key` a client is its address, as the server tells it; with `trustedProxies` the address
 * that those vouch for. `RateLimitDecision` holds the decision in handlers.
 *
 * @throws {TypeError} If an option is of the wrong type, or there is no limit.
 * @throws {RangeError} If an option is out of range, or a policy cannot be told in header fields.
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
  checkLayerOptions(options, sourceOf(options?.trustedProxies));
  const { limit, key, cost = 1, skip, ...rest } = options;
  const failures = new WeakMap<Request, unknown>();
  const gateAt = (now: () => number): Gate<Request, Info> =>
    gate<Request, Info>({
      ...rest,
      limiter: (_request, info) => info.limiter,
      key: key === undefined ? undefined : (_request, info) => info.key,
      cost: (_request, info) => info.cost,
      onFailure: (error, request) => failures.set(request, error),
      now,
    }, sourceOf(options.trustedProxies));

  const make = Effect.gen(function* () {
    const limiter = yield* RateLimiter;
    const clock = yield* Clock.Clock;
    const decide = gateAt(() => clock.currentTimeMillisUnsafe());
    const services = yield* Effect.context<R>();
    const metrics = new WeakMap<Limit, LimitMetrics>();

    function counted(limit: Limit, decision: CoreDecision, cost: number): Effect.Effect<void> {
      return Effect.withFiberSucceed((fiber) => {
        const own = metrics.get(limit) ?? limitMetrics(limit.prefix);
        metrics.set(limit, own);
        own.count(decision, cost, fiber.context);
      });
    }

    /** Logs what went wrong with a request, once. */
    function reported(request: Request): Effect.Effect<void> {
      return Effect.suspend(() => {
        if (!failures.has(request)) return Effect.void;
        const failure = failures.get(request);
        failures.delete(request);
        return Effect.logError("Cannot limit the rate of a request", failure);
      });
    }

    const weigh = Effect.fnUntraced(function* (request: Request, route: Route) {
      const chosen = typeof limit === "function" ? limit(request, route) : limit;
      if (chosen === undefined) return undefined;
      if (skip !== undefined && (yield* found(skip(request, route)))) return undefined;
      const info = {
        ...route,
        limiter: yield* limiter.limiterOf(chosen),
        key: key === undefined ? undefined : yield* found(key(request, route)),
        cost: typeof cost === "number" ? cost : yield* found(cost(request, route)),
      };
      const verdict = yield* Effect.ensuring(
        judged((signal) => decide(request, { ...info, signal })),
        reported(request),
      );
      if (verdict.decision !== undefined) {
        yield* counted(chosen, verdict.decision, info.cost);
      }
      return verdict;
    });

    const middleware: HttpApiMiddleware.HttpApiMiddleware<never, RateLimitConfig["error"], never> =
      Effect.fnUntraced(function* (httpEffect, { endpoint, group }) {
        const request = yield* HttpServerRequest.HttpServerRequest;
        // What the request brings, such as its span, goes before what the server was started with.
        const verdict = yield* Effect.updateContext(
          weigh(request, { endpoint, group }),
          (own: Context.Context<never>) => Context.merge(services, own),
        );
        if (verdict === undefined) return yield* httpEffect;
        yield* HttpEffect.appendPreResponseHandler((_request, response) => {
          verdict.settle?.(outcomeOf(request, response));
          return Effect.as(reported(request), withFields(response, verdict.headers));
        });
        if (verdict.refusal !== undefined) return yield* refused(verdict.refusal);
        const decision = verdict.decision && withDurations(verdict.decision);
        return yield* Effect.provideService(httpEffect, RateLimitDecision, decision);
      });
    return middleware;
  });
  return Layer.effect(RateLimit, make);
}

/** How requests are read: the socket's address where proxies are named, otherwise the server's. */
function sourceOf(trustedProxies: readonly string[] = []): RequestSource<Request, Info> {
  return {
    address: ({ remoteAddress, peerAddress }) =>
      Option.getOrUndefined(trustedProxies.length === 0 ? remoteAddress : peerAddress),
    header: ({ headers }, name) => headers[name],
    signal: (_request, { signal }) => signal,
  };
}

/**
 * The verdict; an interrupt aborts what it waits for, and lets it end. The rule of refunds is told of
 * a client that goes away then, as of one that does so later.
 */
function judged(
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

/** How a request ended: where the client has gone away, that is how, whatever the handler made of it. */
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

function found<A, R>(value: Found<A, R>): Effect.Effect<A, never, R> {
  return Effect.isEffect(value) ? value : Effect.succeed(value);
}

function goneBefore({ settle }: Verdict): void {
  settle?.({ status: GONE_STATUS });
}

function noOne(): void {}
