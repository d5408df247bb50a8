/*
 * Counting hits for middlewares of others, which bring the verdict themselves: how many hits a key
 * has had in its window, which opens at the first of them. It is a fixed window whose limit nobody
 * reaches.
 */
import type { Algorithm } from "../../core/algorithm.ts";
import { isPromise } from "../../core/maybe_promise.ts";
import { errorMessage } from "../../core/options/checks.ts";
import type { Clock } from "../../core/clock.ts";
import type { Decision } from "../../core/decision.ts";
import { fixedWindow } from "../../core/algorithms/fixed_window.ts";
import { checkPrefix } from "../../core/limiter/check_limiter.ts";
import { limiterOn } from "../../core/limiter/limiter.ts";
import type { Store } from "../../core/store.ts";
import { memoryStore } from "../../stores/memory/memory_store.ts";
import type { AnyLimiter, Awaitable } from "../http/gate/rate_limit_options.ts";
import { chain } from "../http/chain.ts";
import { isStoreFailure } from "../http/gate/is_store_failure.ts";

/** Where the hits of another middleware are counted. */
export interface HitStoreOptions {
  /** The store; without one a memory store of its own. */
  readonly store?: Store | undefined;
  /** What its keys begin with in the store; required with a store. */
  readonly prefix?: string | undefined;
  /** Where the time comes from; without it the store's own. */
  readonly clock?: Clock | undefined;
}

/** How often a key was hit in its window. */
export interface Hits {
  readonly count: number;
  /** Milliseconds until the window ends. */
  readonly resetAfter: number;
}

/** Counts hits. */
export interface HitCounter {
  hit(key: string): Awaitable<Hits>;
  takeBack(key: string): Awaitable<void>;
  read(key: string): Awaitable<Hits>;
  forget(key: string): Awaitable<void>;
}

/** More hits than any window sees. */
export const MOST_HITS: number = 1_000_000_000;
/** What stands for an empty key, which others count like any other and stores do not take. */
const EMPTY_KEY = "(empty)";
const LONE_SURROGATES = /\p{Surrogate}/gu;
const ACTION = "count hits";

/**
 * Makes what makes counters of windows whose limit is `MOST_HITS`. Windows with the same id are one
 * for each key.
 *
 * @throws {TypeError} If a store comes without a prefix.
 */
export function hitCounters(
  options: HitStoreOptions,
): (window: Algorithm) => HitCounter {
  const { store = memoryStore(), prefix = "hits", clock } = options;
  if (options.store !== undefined) checkPrefix(options.prefix);

  return function hitCounter(window) {
    const limiter = limiterOn(window, store, prefix, { clock }) as AnyLimiter;
    return {
      hit: (key) => chain(limiter.consume(storable(key)), hitsOf),
      takeBack: (key) => unlessAway(() => chain(limiter.refund(storable(key)), nothing)),
      read: (key) => chain(limiter.peek(storable(key), 0), hitsOf),
      forget: (key) => limiter.reset(storable(key)),
    };
  };
}

/** What express-rate-limit and hono-rate-limiter need of a store. */
export interface HitStore {
  /** What the store's keys begin with. */
  readonly prefix: string;
  /** Whether no other instance counts in the same place. */
  readonly localKeys: boolean;
  /** Receives the middleware's window, in milliseconds. */
  init(options: { readonly windowMs: number }): void;
  /** How often the key was hit; `undefined` if not at all. */
  get(key: string): Awaitable<HitInfo | undefined>;
  /** Counts a hit. */
  increment(key: string): Awaitable<HitInfo>;
  /** Takes a hit back. */
  decrement(key: string): Awaitable<void>;
  /** Forgets the key. */
  resetKey(key: string): Awaitable<void>;
}

/** What express-rate-limit and hono-rate-limiter receive. */
export interface HitInfo {
  /** Hits in the window. */
  readonly totalHits: number;
  /** When the window ends. */
  readonly resetTime: Date;
}

/** A store for express-rate-limit and hono-rate-limiter. */
export function hitStore(options: HitStoreOptions): HitStore {
  const counterBy = hitCounters(options);
  const now = options.clock ?? Date.now;
  let counter: HitCounter | undefined;

  function ready(): HitCounter {
    if (counter !== undefined) return counter;
    throw new TypeError(errorMessage(ACTION, "init must have been called", undefined));
  }

  function infoOf({ count, resetAfter }: Hits): HitInfo {
    return { totalHits: count, resetTime: new Date(now() + resetAfter) };
  }

  return {
    prefix: options.prefix ?? "",
    localKeys: options.store === undefined,
    init({ windowMs }) {
      const period = Math.ceil(windowMs);
      counter = counterBy(fixedWindow({ limit: MOST_HITS, period, anchor: "first" }));
    },
    get: (key) => chain(ready().read(key), (hits) => hits.count === 0 ? undefined : infoOf(hits)),
    increment: (key) => chain(ready().hit(key), infoOf),
    decrement: (key) => ready().takeBack(key),
    resetKey: (key) => ready().forget(key),
  };
}

/** A key that stores take, of one that clients have a hand in, or that is the number of a user. */
function storable(key: string): string {
  if (typeof key === "number" || typeof key === "bigint") return String(key);
  if (typeof key !== "string") return key;
  return key === "" ? EMPTY_KEY : key.replaceAll(LONE_SURROGATES, "\ufffd");
}

function hitsOf(decision: Decision): Hits {
  const { allowed, source, limit, remaining, retryAfter, resetAfter } = decision;
  // Where another store answers with a share of the limit, a hit counts as many times as much.
  if (source !== "policy") {
    return { count: Math.round((limit - remaining) * (MOST_HITS / limit)), resetAfter };
  }
  // Nothing was counted. One hit is within any limit, and so many are within none.
  return allowed ? { count: 1, resetAfter: 0 } : { count: MOST_HITS, resetAfter: retryAfter };
}

/**
 * What cannot be taken back stays counted: the safe side. The response is there, and some
 * middlewares would make an error of it.
 */
function unlessAway(takeBack: () => Awaitable<void>): Awaitable<void> {
  try {
    const done = takeBack();
    return isPromise(done) ? done.catch(rethrowOthers) : done;
  } catch (error) {
    return rethrowOthers(error);
  }
}

function rethrowOthers(error: unknown): void {
  if (!isStoreFailure(error)) throw error;
}

function nothing(): void {}
