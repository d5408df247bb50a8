/*
 * How a request's limits are given: as numbers, a limiter, a policy on one store, or several of
 * them. The types let nobody give two of these at once.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import type { Clock } from "../../../core/clock.ts";
import { internalsOf } from "../../../core/limiter/limiter_internals.ts";
import type { AsyncLimiter, Limiter, LimiterOptions } from "../../../core/limiter/limiter_types.ts";
import {
  checkCost,
  checkFunction,
  checkOptions,
  checkStore,
  type OptionCheck,
  type OptionNames,
  typeError,
} from "../../../core/options/checks.ts";
import type { Period } from "../../../core/options/period.ts";
import type { Store, SyncStore } from "../../../core/store.ts";
import { checkNumbers } from "./check_numbers.ts";

/** A limiter on a store of either kind. Requests hold permits where it gives permits. */
export type AnyLimiter =
  | Limiter
  | AsyncLimiter
  | Limiter<SyncStore, "permits">
  | AsyncLimiter<"permits">;

/** A limiter whose units are consumed. */
export type UnitLimiter = Limiter | AsyncLimiter;

/** Whether a value was made by `limiter(...)`, of this copy of the package. */
export function isLimiter(value: unknown): value is AnyLimiter {
  return typeof value === "object" && value !== null && internalsOf(value) !== undefined;
}

/** Whether requests may hold permits. A limiter that is chosen for each request might give them. */
export function mayHold(
  { limiter, policy, limits = [] }: {
    readonly limiter?: unknown;
    readonly policy?: unknown;
    readonly limits?: readonly object[] | undefined;
  },
): boolean {
  if (typeof limiter === "function" || policy !== undefined || limits.some(mayHold)) return true;
  return limiter !== undefined && holdsPermits((limiter as AnyLimiter).algorithm);
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

/** Options that must not be given beside others. */
export type Without<Names extends string> = { readonly [Name in Names]?: undefined };

/** Where the use of a limit is kept, if the adapter makes its limiter. */
export interface KeptUse {
  /** Where use is kept; default is a memory store of the adapter's own. */
  readonly store?: Store | undefined;
  /** The beginning of the keys in the store; required with `store`. */
  readonly prefix?: string | undefined;
  /** Older options, whose use the limit takes over. */
  readonly replaces?: LimiterOptions["replaces"];
}

/** A limit by its numbers: a `slidingCounter`, or with `burst` a `gcra`. */
export interface LimitByNumbers extends KeptUse, Without<"limiter" | "policy"> {
  /** Units that a key has in each `period`; an integer of at least 0. */
  readonly limit: number;
  /** The length of the window: milliseconds, or text such as `"1m"`. */
  readonly period: Period;
  /** Units that a fresh key admits at one instant; the rest of `limit` comes back evenly. */
  readonly burst?: number | undefined;
}

/** A limit by its limiter. */
export interface LimitByLimiter<Request, Info = undefined>
  extends Without<"burst" | "limit" | "period" | "policy" | keyof KeptUse> {
  /**
   * The limiter, or a function that chooses one for each request; `"unlimited"` lets the request
   * pass, and anything else is an error. Choose from limiters made beforehand, because each new
   * limiter begins with a memory of its own.
   */
  readonly limiter:
    | AnyLimiter
    | ((request: Request, info: Info) => Awaitable<AnyLimiter | "unlimited">);
}

/** A limit by the caller's plan. */
export interface LimitByPolicy<Request, Info = undefined>
  extends KeptUse, Without<"burst" | "limit" | "limiter" | "period"> {
  /**
   * The algorithm for each request, such as that of the caller's plan; `"unlimited"` lets the
   * request pass, and anything else is an error. All algorithms share one store, in which a key's
   * use is kept separately for each algorithm.
   */
  readonly policy: (request: Request, info: Info) => Awaitable<Algorithm | "unlimited">;
}

/** One limit of a request: its numbers, a `limiter`, or a `policy`. */
export type RequestLimit<Request, Info = undefined> =
  & LimitCallOptions<Request, Info>
  & { readonly clock?: Clock | undefined }
  & (LimitByNumbers | LimitByLimiter<Request, Info> | LimitByPolicy<Request, Info>);

/** Several limits of a request. */
export interface SeveralLimits<Request, Info = undefined>
  extends Without<"burst" | "limit" | "limiter" | "period" | "policy" | keyof KeptUse> {
  /**
   * Up to 16 limits, such as one for an address and one for a user. Either all are charged or none
   * is, at one instant, so they share one store and one clock. An entry without `key` or `cost` uses
   * the `key` or `cost` next to `limits`.
   */
  readonly limits: readonly RequestLimit<Request, Info>[];
}

/** The limits of a request: one, or several. */
export type LimitChoice<Request, Info = undefined> =
  | (
    & (LimitByNumbers | LimitByLimiter<Request, Info> | LimitByPolicy<Request, Info>)
    & Without<"limits">
  )
  | SeveralLimits<Request, Info>;

/** One limit, whatever its requests are. */
export type GivenLimit = RequestLimit<unknown, unknown>;

/** The limits, whatever their requests are. */
export type GivenLimits =
  & LimitCallOptions<unknown, unknown>
  & { readonly clock?: Clock | undefined }
  & LimitChoice<unknown, unknown>;

const checkUnits: OptionCheck = (action, _option, value) => {
  if (typeof value !== "function") checkCost(action, value as number, 0);
};

/** The options of one limit, with the checks of options that are not checked elsewhere. */
export const LIMIT_OPTIONS: OptionNames<GivenLimit> = {
  limit: true,
  period: true,
  burst: true,
  limiter: true,
  policy: checkFunction,
  store: checkStore,
  prefix: true,
  clock: checkFunction,
  replaces: true,
  key: checkFunction,
  cost: checkUnits,
};

/** The options of numbers, and those of limiters that the adapter makes. */
const WITH_LIMIT = ["period", "burst"] as const;
const WITH_STORE = ["store", "prefix", "replaces"] as const;

/** The most limits of one request. */
const MAX_LIMITS = 16;

/**
 * The limits that options ask for, each with its own key and cost, or with the `key` and `cost`
 * next to `limits`.
 *
 * @throws {TypeError} If there is no limit, or if one is given in two ways.
 */
export function limitsOf(action: string, options: GivenLimits): readonly GivenLimit[] {
  const { limits, key, cost, clock } = options;
  if (limits === undefined) {
    requireLimit(action, options as GivenLimit);
    return [options as GivenLimit];
  }
  if (!Array.isArray(limits) || limits.length === 0 || limits.length > MAX_LIMITS) {
    throw typeError(action, `limits must be a list of 1 to ${MAX_LIMITS} limits`, limits);
  }
  const { clock: _clock, key: _key, cost: _cost, ...own } = LIMIT_OPTIONS;
  refuseBeside(action, options, Object.keys(own) as (keyof typeof own)[], "the entries of limits");
  return (limits as readonly GivenLimit[]).map((limit) => {
    checkNumbers(action, limit ?? {});
    checkOptions<GivenLimit>(action, limit, LIMIT_OPTIONS);
    requireLimit(action, limit);
    const { key: ownKey = key, cost: ownCost = cost, clock: ownClock = clock } = limit;
    return { ...limit, key: ownKey, cost: ownCost, clock: ownClock };
  });
}

function requireLimit(action: string, options: GivenLimit): void {
  const { limit, limiter, policy } = options;
  const ways = [limit, limiter, policy].filter((way) => way !== undefined).length;
  if (ways > 1) {
    throw typeError(action, "it takes one of limit, limiter and policy", options);
  }
  if (limit === undefined) refuseBeside(action, options, WITH_LIMIT, "limit");
  if (limit !== undefined || policy !== undefined) return;
  if (typeof limiter !== "function" && !isLimiter(limiter)) {
    const rule = limiter === undefined
      ? 'it needs a limit, such as { limit: 100, period: "1m" }'
      : "limiter must be made by limiter(...) of this copy of the package";
    throw typeError(action, rule, limiter);
  }
  refuseBeside(action, options, WITH_STORE, "limit, to policy, or to the limiter");
}

function refuseBeside<Name extends string>(
  action: string,
  options: { readonly [Option in Name]?: unknown },
  names: readonly Name[],
  owner: string,
): void {
  const stray = names.find((name) => options[name] !== undefined);
  if (stray === undefined) return;
  throw typeError(action, `${stray} belongs to ${owner}`, options[stray]);
}
