/*
 * The options of the middleware of HttpApi: the same as in every HTTP adapter, with limits instead
 * of limiters, and effects instead of functions.
 */
import type * as Effect from "effect/Effect";

import { limiterOn } from "../../../core/limiter/limiter.ts";
import { checkOptions, type OptionNames, typeError } from "../../../core/options/checks.ts";
import { type MemoryStore, memoryStore } from "../../../stores/memory/memory_store.ts";
import { gate } from "../../http/gate/gate.ts";
import {
  type DelayOptions,
  GATE_OPTIONS,
  type GateSettings,
  type RateLimitOptions as GateOptions,
} from "../../http/gate/rate_limit_options.ts";
import type { Limit } from "../limit.ts";
import type { HttpServerRequest } from "../needs_effect_4_1.ts";
import { type Info, requestSource, type Route } from "./request_source.ts";

/** A value, or an effect that finds it. */
export type Found<A, R> = A | Effect.Effect<A, never, R>;

/** A limit, or a function that chooses one for each request; `"unlimited"` lets it pass. */
export type LimitOption =
  | Limit
  | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Limit | "unlimited");

/**
 * The key whose units a request takes, and the number of units.
 *
 * @typeParam R The services that the effects among the options need.
 */
export interface LimitCallOptions<R = never> {
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
}

/**
 * One limit of a request.
 *
 * @typeParam R The services that the effects among the options need.
 */
export interface RequestLimit<R = never> extends LimitCallOptions<R> {
  /** The limit, or a function that chooses one; `"unlimited"` lets the request pass. */
  readonly limit: LimitOption;
}

/**
 * The options of `layerRateLimit`. They mean the same as in every HTTP adapter; only `limit`, or
 * `limits`, is required.
 *
 * @typeParam R The services that the effects among the options need.
 */
export interface RateLimitOptions<R = never> extends
  Omit<
    GateSettings<HttpServerRequest.HttpServerRequest, Route>,
    "clock" | "countsTwice" | "onDecision" | "onFailure" | "onRefused" | "respond" | "skip"
  >,
  DelayOptions,
  LimitCallOptions<R> {
  /** The limit, or a function that chooses one; `"unlimited"` lets the request pass. */
  readonly limit?: LimitOption | undefined;
  /**
   * In place of `limit`: up to 16 limits, such as one for an address and one for a user, charged
   * all or none at one instant. An entry without `key` or `cost` uses the `key` or `cost` next to
   * `limits`.
   */
  readonly limits?: readonly RequestLimit<R>[] | undefined;
  /** Which requests pass without a limit. */
  readonly skip?:
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Found<boolean, R>)
    | undefined;
}

const ACTION = "create layerRateLimit";
const { limiter: _limiter, respond: _respond, onRefused: _onRefused, ...OTHERS } = GATE_OPTIONS;
const { onDecision: _onDecision, onFailure: _onFailure, countsTwice: _twice, ...LIMITED } = OTHERS;
const { policy: _policy, rules: _rules, descriptors: _descriptors, ...ON_STORE } = LIMITED;
const { store: _store, prefix: _prefix, clock: _clock, replaces: _replaces, ...NUMBERED } =
  ON_STORE;
const { period: _period, burst: _burst, ...SHARED } = NUMBERED;

/** The options of one of several limits. */
const ENTRY: OptionNames<RequestLimit<never>> = {
  limit: true,
  key: LIMITED.key,
  cost: LIMITED.cost,
};

/**
 * The limits that options ask for, each with its own key and cost, or with the `key` and `cost`
 * next to `limits`. Like every adapter, it checks the gate's options.
 *
 * @throws {TypeError} If an option is of the wrong type, or there is no limit.
 * @throws {RangeError} If an option is out of range, or header fields cannot express a policy.
 */
export function limitsOf<R>(options: RateLimitOptions<R>): readonly RequestLimit<R>[] {
  checkOptions<RateLimitOptions<R>>(ACTION, options, SHARED);
  const { limit, limits, ...others } = options;
  // The layer has the store that counts. This one is only for the checks.
  const store = memoryStore({ perProcess: true });
  if (limits === undefined) {
    checkGate({ ...others, limiter: checkedLimiter(limit, store) });
    return [{ limit: limit!, key: options.key, cost: options.cost }];
  }
  if (limit !== undefined) {
    throw typeError(ACTION, "limit belongs to the entries of limits", limit);
  }
  const given = Array.isArray(limits)
    ? limits.map((entry: RequestLimit<R>) => {
      checkOptions<RequestLimit<R>>(ACTION, entry, ENTRY);
      const { limit, ...own } = entry;
      return { ...own, limiter: checkedLimiter(limit, store) };
    })
    : limits;
  checkGate({ ...others, limits: given });
  return limits.map(({ limit, key = options.key, cost = options.cost }) => ({ limit, key, cost }));
}

function checkGate(options: unknown): void {
  gate(options as GateOptions<HttpServerRequest.HttpServerRequest, Info>, requestSource);
}

/** A limit as a limiter that the gate can check. */
function checkedLimiter(limit: LimitOption | undefined, store: MemoryStore): unknown {
  if (typeof limit === "function") return limit;
  if (typeof limit?.prefix !== "string" || typeof limit.algorithm?.step !== "function") {
    throw typeError(ACTION, "it needs a limit, such as limit(...)", limit);
  }
  return limiterOn(limit.algorithm, store, limit.prefix, {});
}
