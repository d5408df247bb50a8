/*
 * Counts hits for middlewares of other libraries, which make the verdict themselves. The count is
 * the number of hits of a key in its window. The window opens at the first hit, and its own limit
 * is never reached.
 */
import type { Algorithm } from "../../core/algorithm.ts";
import { setBounded } from "../../core/bounded_map.ts";
import type { Clock } from "../../core/clock.ts";
import type { Decision } from "../../core/decision.ts";
import { isOverload, isStoreError } from "../../core/errors.ts";
import { checkPrefix } from "../../core/limiter/check_limiter.ts";
import { limiterOn } from "../../core/limiter/limiter.ts";
import { checkOptions, typeError } from "../../core/options/checks.ts";
import type { Store } from "../../core/store.ts";
import { memoryStore } from "../../stores/memory/memory_store.ts";
import { warnOfProcesses } from "../../stores/memory/warn_of_processes.ts";
import type { Awaitable } from "../http/gate/rate_limit_options.ts";
import { type HitBlock, type HitWindow, hitWindow } from "./hit_window.ts";

/** Where the hits of another middleware are counted. */
export interface HitStoreOptions {
  /** The store; default is a memory store of its own. */
  readonly store?: Store | undefined;
  /** The beginning of its keys in the store; required with a store. */
  readonly prefix?: string | undefined;
  /** The source of the time; default is the store's own time. */
  readonly clock?: Clock | undefined;
}

/** A store, as express-rate-limit and hono-rate-limiter need it. */
export interface HitStore {
  /** The beginning of the store's keys. */
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
  /** Forgets all keys of the prefix. */
  resetAll(): Awaitable<void>;
}

/** The counts that express-rate-limit and hono-rate-limiter receive. */
export interface HitInfo {
  /** Hits in the window. */
  readonly totalHits: number;
  /** When the window ends. */
  readonly resetTime: Date;
}

/** A context, as elysia-rate-limit needs it. */
export interface HitContext {
  /** Receives the plugin's window, in milliseconds, or a function that chooses it. */
  // deno-lint-ignore no-explicit-any
  init(options: { readonly duration: number | ((...args: any[]) => unknown) }): void;
  /**
   * Counts a hit; the window lasts at least as long as the longest duration given for it. The time
   * comes from the context's clock or store if it was given one, otherwise from the request.
   */
  increment(key: string, duration?: number, requestTime?: number): Awaitable<{
    count: number;
    nextReset: Date;
    /** When the window was opened; if durations differ, possibly a later instant. */
    start: number;
  }>;
  /** Takes a hit back. */
  decrement(key: string): Awaitable<void>;
  /** Forgets the key, or all keys of the prefix. */
  reset(key?: string): Awaitable<void>;
  /** Does nothing, because the code that made the store closes it. */
  kill(): void;
}

/** More hits than any window sees. */
const MAX_HITS = 1_000_000_000;
/** The default window of express-rate-limit and hono-rate-limiter, in milliseconds. */
const USUAL_WINDOW = 60_000;
/** How many counters for windows of different lengths are kept. */
const MAX_WINDOWS = 100;
/** Stands for an empty key, which other libraries count like any key, but stores do not accept. */
const EMPTY_KEY = "(empty)";
/**
 * The count for a hit for which the store had no room; the client may come again after a second.
 */
const OVERLOADED: Hits = { count: MAX_HITS, resetAfter: 1_000 };
const LONE_SURROGATES = /\p{Surrogate}/gu;
const ACTION = "count hits";

/** A store for express-rate-limit and hono-rate-limiter. */
export function hitStore(options: HitStoreOptions = {}): HitStore {
  const windows = hitWindows(options);
  const now = options.clock ?? Date.now;
  let counter = windows(USUAL_WINDOW);

  function infoOf({ count, resetAfter }: Hits): HitInfo {
    return { totalHits: count, resetTime: new Date(now() + resetAfter) };
  }

  return {
    prefix: options.prefix ?? "",
    localKeys: options.store === undefined,
    init: ({ windowMs }) => void (counter = windows(windowMs)),
    async get(key) {
      const hits = await counter.read(key);
      return hits.count === 0 && hits.resetAfter === 0 ? undefined : infoOf(hits);
    },
    increment: async (key) => infoOf(await counter.hit(key)),
    decrement: (key) => counter.takeBack(key),
    resetKey: (key) => counter.forget(key),
    resetAll: () => counter.forgetAll(),
  };
}

/** A context for elysia-rate-limit. */
export function hitContext(options: HitStoreOptions = {}): HitContext {
  let latest = 0;
  // Machines that share a store have different clocks, so the store's time counts.
  const clock = options.clock ?? (options.store === undefined ? () => latest : undefined);
  const windows = hitWindows({ ...options, clock });
  let usual: number | undefined;
  // Keys are the same in windows of any duration.
  const anyWindow = windows(1);

  return {
    init({ duration }) {
      usual = typeof duration === "number" ? duration : undefined;
    },
    async increment(key, given = usual, requestTime) {
      if (given === undefined) throw typeError(ACTION, "duration must be known", given);
      const duration = Math.ceil(given);
      latest = Number.isFinite(requestTime) ? requestTime as number : Date.now();
      const instant = clock?.();
      const { count, resetAfter } = await windows(duration).hit(key);
      const end = (instant ?? Date.now()) + resetAfter;
      return { count, nextReset: new Date(end), start: end - Math.max(duration, resetAfter) };
    },
    decrement: async (key) => await anyWindow.takeBack(key),
    reset: async (key) => await (key === undefined ? anyWindow.forgetAll() : anyWindow.forget(key)),
    kill() {},
  };
}

/**
 * Counters by the length of the windows that they open, and by the block that an excess hit begins.
 * An open window is never shortened.
 *
 * @throws {TypeError} If there is a store without a prefix.
 */
export function hitWindows(
  options: HitStoreOptions,
): (duration: number, block?: HitBlock) => HitCounter {
  const counterBy = hitCounters(options);
  const counters = new Map<string, HitCounter>();
  return function windowsOf(given, block) {
    const duration = Math.ceil(given);
    const name = block === undefined
      ? `${duration}`
      : `${duration} ${block.most} ${block.duration}`;
    let counter = counters.get(name);
    if (counter === undefined) {
      counter = counterBy(hitWindow(MAX_HITS, duration, block));
      setBounded(counters, name, counter, MAX_WINDOWS);
    }
    return counter;
  };
}

/** How often a key was hit in its window, and the milliseconds until that ends. */
export interface Hits {
  readonly count: number;
  readonly resetAfter: number;
}

/** Counts the hits of keys, each in a window of its own. */
export type HitCounter = ReturnType<ReturnType<typeof hitCounters>>;

/** Makes the factory of counters. A key has one window, whichever counter hits it. */
function hitCounters(options: HitStoreOptions) {
  checkOptions<HitStoreOptions>("create a store of hits", options, {
    store: true,
    prefix: true,
    clock: true,
  });
  const { store = memoryStore(), prefix = "hits", clock } = options;
  if (options.store !== undefined) checkPrefix(options.prefix);
  warnOfProcesses(store);

  return function hitCounter(window: Algorithm<HitWindow>) {
    const limiter = limiterOn(window, store, prefix, { clock });
    return {
      /** Counts a hit, and answers how many hits there are. */
      async hit(key: string): Promise<Hits> {
        try {
          return hitsOf(await limiter.consume(storable(key)));
        } catch (error) {
          // Some middlewares let requests pass on failures, so a crowd would pass just by being a
          // crowd.
          if (!isOverload(error)) throw error;
          return OVERLOADED;
        }
      },
      /** Answers how many hits there are. */
      read: async (key: string): Promise<Hits> => hitsOf(await limiter.peek(storable(key), 0)),
      /**
       * Takes the newest hit of the window back, as the middlewares' own stores do. The call names
       * no hit, so there is no receipt. A hit that cannot be taken back stays counted, which is the
       * safe side. It does not throw, because the response is already made and some middlewares
       * would turn the error into another response.
       */
      async takeBack(key: string): Promise<void> {
        try {
          await limiter.refund(storable(key));
        } catch (error) {
          if (!isStoreError(error)) throw error;
        }
      },
      forget: (key: string): Awaitable<void> => limiter.reset(storable(key)),
      forgetAll: (): Awaitable<void> => limiter.resetPrefix(),
    };
  };
}

/**
 * A key that stores accept, made from a key that clients may influence, or that is a user's number.
 */
function storable(key: string): string {
  if (typeof key === "number" || typeof key === "bigint") return String(key);
  if (typeof key !== "string") return key;
  return key === "" ? EMPTY_KEY : key.replaceAll(LONE_SURROGATES, "\ufffd");
}

function hitsOf({ allowed, source, limit, remaining, retryAfter, resetAfter }: Decision): Hits {
  // If another store answers with a share of the limit, a hit counts as several.
  if (source !== "policy") {
    return { count: Math.round((limit - remaining) * (MAX_HITS / limit)), resetAfter };
  }
  // Nothing was counted. One hit is within every limit, and the largest count is within no limit.
  return allowed ? { count: 1, resetAfter: 0 } : { count: MAX_HITS, resetAfter: retryAfter };
}
