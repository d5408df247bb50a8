import { errorMessage } from "../../core/options/checks.ts";
import { type HitCounter, hitCounters, type HitStoreOptions, MOST_HITS } from "./hit_counter.ts";
import { chain } from "../http/chain.ts";
import { hitWindow } from "./hit_window.ts";
import type { Awaitable } from "../http/gate/rate_limit_options.ts";

/** What elysia-rate-limit needs of a context. */
export interface HitContext {
  /** Receives the plugin's window, in milliseconds, or a function that chooses it. */
  // deno-lint-ignore no-explicit-any
  init(options: { readonly duration: number | ((...args: any[]) => unknown) }): void;
  /** Counts a hit; the window lasts at least as long as the longest duration given for it. */
  increment(key: string, duration?: number): Awaitable<{
    count: number;
    nextReset: Date;
    /** When the window was opened; where durations differ, that or an instant since then. */
    start: number;
  }>;
  /** Takes a hit back. */
  decrement(key: string): Awaitable<void>;
  /** Forgets the key. */
  reset(key?: string): Awaitable<void>;
  /** Does nothing: the store is closed by whoever made it. */
  kill(): void;
}

/** A context for elysia-rate-limit. */
export function hitContext(options: HitStoreOptions): HitContext {
  const counterBy = hitCounters(options);
  const now = options.clock ?? Date.now;
  let usual: number | undefined;
  let latest = 1;
  let counter = counterBy(hitWindow(MOST_HITS, latest));

  /** The counter that opens and extends windows by a duration; keys are the same in all of them. */
  function counterOf(duration: number): HitCounter {
    if (duration !== latest) {
      counter = counterBy(hitWindow(MOST_HITS, duration));
      latest = duration;
    }
    return counter;
  }

  return {
    init({ duration }) {
      usual = typeof duration === "number" ? duration : undefined;
    },
    increment(key, given = usual) {
      if (given === undefined) {
        throw new TypeError(errorMessage("count hits", "duration must be known", given));
      }
      const duration = Math.ceil(given);
      return chain(counterOf(duration).hit(key), ({ count, resetAfter }) => {
        const end = now() + resetAfter;
        return { count, nextReset: new Date(end), start: end - Math.max(duration, resetAfter) };
      });
    },
    decrement: (key) => counter.takeBack(key),
    reset(key) {
      if (key === undefined) {
        throw new TypeError(errorMessage("forget hits", "a key must be given", key));
      }
      return counter.forget(key);
    },
    kill() {},
  };
}
