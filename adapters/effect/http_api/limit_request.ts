/*
 * A request of HttpApi decided by the gate that all HTTP adapters share: the limit is bound to the
 * fiber's clock, key and cost may be effects, and an interrupt aborts what the gate waits for.
 */

import * as Clock from "effect/Clock";
import type * as Context from "effect/Context";
import * as Effect from "effect/Effect";

import { isPromise } from "../../../core/maybe_promise.ts";
import { gate, type Verdict } from "../../http/gate/gate.ts";
import { GONE_STATUS } from "../../http/gate/refund_rule.ts";
import type { Limit } from "../limit.ts";
import { type LimitMetrics, limitMetrics } from "../limit_metrics.ts";
import { RateLimiter } from "../rate_limiter.ts";
import {
  type Found,
  type Info,
  type RateLimitOptions,
  type Request,
  requestSource,
  type Route,
} from "./rate_limit_options.ts";

/** Runs the options, then the gate; `undefined` if the request is not limited. */
export type LimitRequest<R> = (
  request: Request,
  route: Route,
) => Effect.Effect<Verdict | undefined, never, R>;

/** Makes the gate of a layer; what goes wrong in it is logged in the context of the request. */
export function limitRequests<R>(
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
    }, requestSource(options.trustedProxies));

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
 * The verdict; an interrupt aborts what it waits for, and lets it end. A client that goes away then is
 * one for the rule of refunds, as one that does so later.
 */
function verdictOf(
  call: (signal: AbortSignal) => Verdict | Promise<Verdict>,
): Effect.Effect<Verdict> {
  return Effect.callback<Verdict>((resume, signal) => {
    const verdict = call(signal);
    if (!isPromise(verdict)) return resume(Effect.succeed(verdict));
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

function goneBefore({ settle }: Verdict): void {
  settle?.({ status: GONE_STATUS });
}

function noOne(): void {}
