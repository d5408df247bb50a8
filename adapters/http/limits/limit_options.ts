/*
 * How a request's limits are given: a limiter, a policy on one store, or several of them.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Clock } from "../../../core/clock.ts";
import {
  type AsyncLimiter,
  internalsOf,
  type Limiter,
  type LimiterOptions,
} from "../../../core/limiter/limiter.ts";
import {
  checkCost,
  checkFunction,
  checkOptions,
  checkStore,
  type OptionCheck,
  type OptionNames,
  typeError,
} from "../../../core/options/checks.ts";
import type { Store } from "../../../core/store.ts";
import { checkNumbers } from "./check_numbers.ts";

/** A limiter on a store of either kind. */
export type AnyLimiter = Limiter | AsyncLimiter;

/** Whether requests may hold permits. A limiter that is chosen for each request might give them. */
// deno-lint-ignore no-explicit-any
export function mayHold({ limiter, policy, limits = [] }: RequestLimits<any, any>): boolean {
  if (typeof limiter === "function" || policy !== undefined || limits.some(mayHold)) return true;
  return limiter !== undefined && internalsOf(limiter)?.permits.ask !== undefined;
}

/** A value, or a promise of it. */
export type Awaitable<Value> = Value | Promise<Value>;

/** The key of a request on one limit, and how many units it takes. */
export interface LimitCallOptions<Request, Info = undefined> {
  /**
   * The key: a function of the request; default is the client's address. Validate anything that the
   * client itself sends: a client that makes up a new key for each request has no limit. A request
   * without a key (`undefined`, `null` or empty), or whose key is not text (lone surrogates), is
   * refused with a 400; a request whose key is longer than 1,024 characters is refused with a 431.
   */
  readonly key?:
    | ((request: Request, info: Info) => Awaitable<string | null | undefined>)
    | undefined;
  /** Units that a request takes, or a function of it; default 1. */
  readonly cost?: number | ((request: Request, info: Info) => Awaitable<number>) | undefined;
}

/** One limit of a request: a `limiter`, or a `policy` on one store. */
export interface RequestLimit<Request, Info = undefined> extends LimitCallOptions<Request, Info> {
  /**
   * The limiter, or a function that chooses one for each request; `undefined` lets the request
   * pass. Choose from limiters made beforehand, because each new limiter begins with a memory of
   * its own.
   */
  readonly limiter?:
    | AnyLimiter
    | ((request: Request, info: Info) => Awaitable<AnyLimiter | undefined>)
    | undefined;
  /**
   * In place of `limiter`: the algorithm for each request, such as that of the caller's plan;
   * `undefined` lets the request pass. All algorithms share one store, in which a key's use is kept
   * separately for each algorithm.
   */
  readonly policy?:
    | ((request: Request, info: Info) => Awaitable<Algorithm | undefined>)
    | undefined;
  /** For `policy`: where use is kept; default is a memory store of its own. */
  readonly store?: Store | undefined;
  /** For `policy`: the beginning of the keys in the store; required with `store`. */
  readonly prefix?: string | undefined;
  /** For `policy`: the source of `now`; default is the store's own time. */
  readonly clock?: Clock | undefined;
  /** For `policy`: older options, whose use the algorithms take over. */
  readonly replaces?: LimiterOptions["replaces"];
}

/** The limits of a request: one, or several. */
export interface RequestLimits<Request, Info = undefined> extends RequestLimit<Request, Info> {
  /**
   * In place of `limiter`: up to 16 limits, such as one for an address and one for a user. Either
   * all are charged or none is. Limits that share a store and a clock are charged at one instant.
   * With several stores, the limits are looked at first, and units are given back if a store
   * refuses after all. An entry without `key` or `cost` uses the `key` or `cost` next to `limits`.
   */
  readonly limits?: readonly RequestLimit<Request, Info>[] | undefined;
}

/** One limit, whatever its requests are. */
export type GivenLimit = RequestLimit<unknown, unknown>;

/** The limits, whatever their requests are. */
export type GivenLimits = RequestLimits<unknown, unknown>;

const checkUnits: OptionCheck = (action, _option, value) => {
  if (typeof value !== "function") checkCost(action, value as number, 0);
};

/** The options of one limit, with the checks of options that are not checked elsewhere. */
export const LIMIT_OPTIONS: OptionNames<GivenLimit> = {
  limiter: true,
  policy: checkFunction,
  store: checkStore,
  prefix: true,
  clock: checkFunction,
  replaces: true,
  key: checkFunction,
  cost: checkUnits,
};

/** The most limits of one request. */
const MAX_LIMITS = 16;

/**
 * The limits that options ask for, each with its own key and cost, or with the `key` and `cost`
 * next to `limits`.
 *
 * @throws {TypeError} If there is no limit, or if one lacks its limiter.
 */
export function limitsOf(action: string, options: GivenLimits): readonly GivenLimit[] {
  const { limits, key, cost } = options;
  if (limits === undefined) {
    requireLimit(action, options);
    return [options];
  }
  if (!Array.isArray(limits) || limits.length === 0 || limits.length > MAX_LIMITS) {
    throw typeError(action, `limits must be a list of 1 to ${MAX_LIMITS} limits`, limits);
  }
  const beside = (["limiter", "policy", "store", "prefix", "clock", "replaces"] as const)
    .find((option) => options[option] !== undefined);
  if (beside !== undefined) {
    throw typeError(action, `${beside} belongs to the entries of limits`, options[beside]);
  }
  return (limits as readonly GivenLimit[]).map((limit) => {
    checkNumbers(action, limit ?? {});
    checkOptions<GivenLimit>(action, limit, LIMIT_OPTIONS);
    requireLimit(action, limit);
    return { ...limit, key: limit.key ?? key, cost: limit.cost ?? cost };
  });
}

function requireLimit(action: string, { limiter, policy, ...others }: GivenLimit): void {
  if (policy !== undefined) {
    if (limiter === undefined) return;
    throw typeError(action, "it takes a limiter or a policy, not both", limiter);
  }
  if (typeof limiter !== "function" && typeof limiter?.consume !== "function") {
    const lacks = typeof limiter === "object" && limiter !== null ? ": consume is missing" : "";
    throw typeError(action, `it needs a limiter, such as limiter(...)${lacks}`, limiter);
  }
  const stray = (["store", "prefix", "clock", "replaces"] as const)
    .find((option) => others[option] !== undefined);
  if (stray !== undefined) {
    throw typeError(action, `${stray} belongs to policy, or to the limiter`, others[stray]);
  }
}
