import { complaint } from "../../core/check.ts";
import { type HitCounter, hitCounters, type HitStoreOptions, then } from "./hit_counter.ts";
import type { Awaitable } from "./options.ts";

/** What elysia-rate-limit asks of a context. */
export interface HitContext {
  /** Told of the plugin's window, in milliseconds, or a function that chooses it. */
  // deno-lint-ignore no-explicit-any
  init(options: { readonly duration: number | ((...args: any[]) => unknown) }): void;
  /** Counts a hit. */
  increment(key: string, duration?: number): Awaitable<{
    count: number;
    nextReset: Date;
    start: number;
  }>;
  /** Takes a hit back. */
  decrement(key: string): Awaitable<void>;
  /** Forgets the key. */
  reset(key?: string): Awaitable<void>;
  /** Does nothing: the store is closed by whoever made it. */
  kill(): void;
}

/** Keys whose window is remembered, where a function chooses it. */
const MOST_DURATIONS = 10_000;

/** A context for elysia-rate-limit. */
export function hitContext(options: HitStoreOptions): HitContext {
  const counterOf = hitCounters(options);
  const now = options.clock ?? Date.now;
  const durations = new Map<string, number>();
  let usual: number | undefined;

  /** The counter of a key's window: the one given, the one last given, or the plugin's. */
  function counterFor(key: string, given?: number): HitCounter {
    const duration = given ?? durations.get(key) ?? usual;
    if (duration === undefined) {
      throw new TypeError(complaint("count hits", "duration must be known", duration));
    }
    if (duration !== usual) {
      durations.delete(key);
      if (durations.size >= MOST_DURATIONS) durations.delete(durations.keys().next().value!);
      durations.set(key, duration);
    }
    return counterOf(duration);
  }

  return {
    init({ duration }) {
      usual = typeof duration === "number" ? duration : undefined;
    },
    increment(key, duration) {
      const length = duration ?? usual;
      return then(counterFor(key, length).hit(key), ({ count, resetAfter }) => {
        const end = now() + resetAfter;
        return { count, nextReset: new Date(end), start: end - (length ?? resetAfter) };
      });
    },
    decrement: (key) => counterFor(key).takeBack(key),
    reset(key) {
      if (key === undefined) {
        throw new TypeError(complaint("forget hits", "a key must be given", key));
      }
      return counterFor(key).forget(key);
    },
    kill() {},
  };
}
