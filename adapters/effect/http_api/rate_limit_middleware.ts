/*
 * The middleware of HttpApi. Its options are the same as in every HTTP adapter, with limits instead
 * of limiters, and effects instead of functions.
 */
import * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import { applyHeaders } from "../../http/fields/apply_headers.ts";
import type { HeaderField } from "../../http/fields/header_writer.ts";
import type { Outcome } from "../../http/gate/rate_limit_options.ts";
import { GONE_STATUS } from "../../http/gate/refunds.ts";
import type { GateVerdict } from "../../http/gate/gate.ts";
import type { Refusal } from "../../http/gate/refusal.ts";
import { fetchOutcome } from "../../http/servers/fetch_response.ts";
import { type Decision, withDurations } from "../decision.ts";
import {
  HttpApiError,
  HttpApiMiddleware,
  HttpEffect,
  HttpServerRequest,
  HttpServerResponse,
} from "../needs_effect_4_1.ts";
import type { RateLimiter } from "../rate_limiter.ts";
import { limitRequests } from "./limit_requests.ts";
import { limitsOf, type RateLimitOptions } from "./rate_limit_options.ts";
import {
  KeyTooLong,
  QuotaExceeded,
  type RateLimitProblems,
  TemporaryReducedCapacity,
  UnknownAddress,
} from "./rate_limit_problems.ts";

/** The middleware in the types of an API: it has errors, and needs nothing. */
export interface RateLimitConfig {
  /** It needs no other service. */
  readonly requires: never;
  /** It provides no service. */
  readonly provides: never;
  /** The problems that it answers with. */
  readonly error: readonly [
    typeof QuotaExceeded,
    typeof TemporaryReducedCapacity,
    typeof UnknownAddress,
    typeof KeyTooLong,
    typeof HttpApiError.BadRequestProblem,
  ];
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
  error: [
    QuotaExceeded,
    TemporaryReducedCapacity,
    UnknownAddress,
    KeyTooLong,
    HttpApiError.BadRequestProblem,
  ] as const,
});

/** The decision on the request at hand, for handlers; `undefined` if it was not limited. */
export const RateLimitDecision: Context.Reference<Decision | undefined> = Context.Reference(
  "tidegate/effect/RateLimitDecision",
  { defaultValue: (): Decision | undefined => undefined },
);

/**
 * The middleware `RateLimit`: requests within the limit go on, with the `RateLimit` fields on their
 * responses; others are answered with a 429, `Retry-After` and a problem as JSON. A refusal by the
 * failure policy is a 503, and so is a store that cannot decide, whose error is logged. A request
 * without a key is answered with a 400. All of them are declared: OpenAPI lists them, and generated
 * clients fail with them as typed errors.
 *
 * Without `key`, a client is its address as the server knows it; with `trustedProxies`, the address
 * that these proxies report. `RateLimitDecision` holds the decision in handlers.
 *
 * A wrong option, or a policy that header fields cannot express, is a defect of the layer.
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
 * const accounts = new Map([["key-1", "ada"]]); // API keys that were given out
 * const limited = layerRateLimit({
 *   limit: limit("api", gcra({ limit: 100, period: "1m", burst: 100 })),
 *   key: ({ headers }) => accounts.get(headers["x-api-key"] ?? ""),
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
  const make = Effect.gen(function* () {
    const limits = limitsOf(options);
    const limitRequest = yield* limitRequests(options, limits);
    const { jitter = 0, random = Math.random } = options;
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
        if (verdict.refusal !== undefined) {
          return yield* refused(verdict.refusal, verdict.decision, jitter * random());
        }
        const decision = verdict.decision && withDurations(verdict.decision);
        return yield* Effect.provideService(httpEffect, RateLimitDecision, decision);
      });
    return middleware;
  });
  return Layer.effect(RateLimit, make);
}

/**
 * The outcome of a request. If the client has gone away, the outcome says so, whatever the handler
 * did.
 */
function outcomeOf(
  { source }: HttpServerRequest.HttpServerRequest,
  { status }: HttpServerResponse.HttpServerResponse,
): Outcome {
  // A request of a web handler, or of a server of Node's kind.
  const { signal, socket } = source as { signal?: AbortSignal; socket?: { destroyed?: boolean } };
  return socket?.destroyed === true ? { status: GONE_STATUS } : fetchOutcome({ status }, signal);
}

/** The response with the verdict's fields, in addition to the fields of other limits. */
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

/**
 * Fails with the problem of a refusal. A client that has gone away gets a plain response, because it
 * never reads one.
 *
 * @param jitter Milliseconds that the client waits beyond the time that the decision says.
 */
function refused(
  { status, contentType, body }: Refusal,
  decision: GateVerdict["decision"],
  jitter: number,
): Effect.Effect<HttpServerResponse.HttpServerResponse, RateLimitProblems> {
  switch (status) {
    case 400:
      return Effect.fail(new HttpApiError.BadRequestProblem({ detail: NO_KEY }));
    case 403:
      return Effect.fail(new UnknownAddress());
    case 429:
      return Effect.fail(new QuotaExceeded(retryable(body, decision, jitter)));
    case 431:
      return Effect.fail(new KeyTooLong());
    case 503:
      return Effect.fail(new TemporaryReducedCapacity(retryable(body, decision, jitter)));
    default:
      return Effect.succeed(HttpServerResponse.text(body, { status, contentType }));
  }
}

const NO_KEY = "The request has no key that its rate can be limited by";

/** The fields of a refusal that ends with time. */
function retryable(body: string, decision: GateVerdict["decision"], jitter: number) {
  const violated: readonly string[] = JSON.parse(body)["violated-policies"] ?? [];
  const after = decision?.retryAfter ?? Infinity;
  return {
    "violated-policies": violated,
    ...(after < Infinity &&
      { retryAfter: Duration.millis(Math.max(1, Math.ceil(after + jitter))) }),
  };
}
