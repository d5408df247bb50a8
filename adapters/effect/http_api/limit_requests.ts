/*
 * The gate of the middleware of HttpApi: it runs the effects of the options one after the other,
 * and passes their results to the gate.
 */
import * as Clock from "effect/Clock";
import type * as Context from "effect/Context";
import * as Effect from "effect/Effect";

import type { Decision } from "../../../core/decision.ts";
import { typeError } from "../../../core/options/checks.ts";
import { gate, type GateVerdict } from "../../http/gate/gate.ts";
import { GONE_STATUS } from "../../http/gate/refunds.ts";
import type { Limit } from "../limit.ts";
import { type LimitMetrics, limitMetrics } from "../limit_metrics.ts";
import { RateLimiter } from "../rate_limiter.ts";
import type { Found, RateLimitOptions, RequestLimit } from "./rate_limit_options.ts";
import {
  type FoundCall,
  type Info,
  type Request,
  requestSource,
  type Route,
} from "./request_source.ts";

/** Runs the options, then the gate; `undefined` if the request is not limited. */
export type LimitRequest<R> = (
  request: Request,
  route: Route,
) => Effect.Effect<GateVerdict | undefined, never, R>;

/** A call and its limit. */
interface CountedCall extends FoundCall {
  readonly limit: Limit;
}

/** Makes the gate of a layer; its failures are logged in the context of the request. */
export function limitRequests<R>(
  { limit: _limit, limits: _limits, skip, key: _key, cost: _cost, ...rest }: RateLimitOptions<R>,
  entries: readonly RequestLimit<R>[],
): Effect.Effect<LimitRequest<R>, never, RateLimiter> {
  /** The context of each request that is being decided, for what is logged later. */
  const contexts = new WeakMap<Request, Context.Context<never>>();
  const count = decisionCounter();

  /** Logs a failure of a request, whether the request is answered already or not. */
  function logFailure(error: unknown, request: Request): void {
    const logging = Effect.logError("Cannot limit the rate of a request", error);
    Effect.runForkWith(contexts.get(request)!)(logging);
  }

  return Effect.gen(function* () {
    const clock = yield* Clock.Clock;
    const limiter = yield* RateLimiter;
    const decide = gate<Request, Info>({
      ...rest,
      limits: entries.map(({ key }, index) => ({
        limiter: (_request, { calls }) => calls[index]?.limiter ?? "unlimited",
        key: key === undefined ? undefined : (_request, { calls }) => calls[index]!.key,
        cost: (_request, { calls }) => calls[index]!.cost,
      })),
      onFailure: logFailure,
      clock: () => clock.currentTimeMillisUnsafe(),
    }, requestSource);

    const callOf = Effect.fnUntraced(
      function* ({ key, cost = 1 }: RequestLimit<R>, limit: Limit, request: Request, route: Route) {
        const call: CountedCall = {
          limit,
          limiter: yield* limiter.limiterOf(limit),
          key: key === undefined ? undefined : yield* found(key(request, route)),
          cost: typeof cost === "number" ? cost : yield* found(cost(request, route)),
        };
        return call;
      },
    );

    return Effect.fnUntraced(function* (request, { endpoint, group }) {
      const route: Route = { endpoint, group };
      const chosen = entries.map(({ limit }) =>
        typeof limit === "function" ? limit(request, route) : limit
      );
      if (chosen.some((limit) => !limit)) {
        return yield* Effect.die(
          typeError("limit the rate", 'limit must return a limit or "unlimited"', undefined),
        );
      }
      if (chosen.every((limit) => limit === "unlimited")) return undefined;
      if (skip !== undefined && (yield* found(skip(request, route)))) return undefined;
      const calls: (CountedCall | undefined)[] = [];
      for (const [index, limit] of chosen.entries()) {
        calls.push(
          limit === "unlimited" ? undefined : yield* callOf(entries[index]!, limit, request, route),
        );
      }
      const context = yield* Effect.context();
      contexts.set(request, context);
      const verdict = yield* verdictOf((signal) => decide(request, { ...route, calls, signal }));
      count(calls.filter((call) => call !== undefined), verdict.decision, context);
      return verdict;
    });
  });
}

/** Makes the function that counts the decisions of a request's limits in the metrics of each. */
function decisionCounter() {
  const metrics = new WeakMap<Limit, LimitMetrics>();

  return function count(
    calls: readonly CountedCall[],
    decision: Decision | undefined,
    context: Context.Context<never>,
  ): void {
    if (decision === undefined) return;
    const { allowed, parts } = decision;
    // Two limits on the same stored key are charged as one, and then share the decision of all.
    const own = calls.length > 1 && parts?.length === calls.length ? parts : undefined;
    calls.forEach(({ limit, cost }, index) => {
      const counts = metrics.get(limit) ?? limitMetrics(limit.prefix);
      metrics.set(limit, counts);
      const part = own?.[index] ?? decision;
      // A limit that would have admitted a refused request took nothing.
      if (part.allowed === allowed) counts.count(part, cost, context);
    });
  };
}

/**
 * The verdict. An interrupt aborts the wait, and lets the call end. A client that goes away in that
 * time falls under the rule of refunds, like one that goes away later.
 */
function verdictOf(
  call: (signal: AbortSignal) => GateVerdict | Promise<GateVerdict>,
): Effect.Effect<GateVerdict> {
  return Effect.callback<GateVerdict>((resume, signal) => {
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

function goneBefore({ settle, release }: GateVerdict): void {
  settle?.({ status: GONE_STATUS });
  release?.();
}

function noOne(): void {}
