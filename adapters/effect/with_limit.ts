/*
 * Puts a limit on an effect without changing the effect. Nothing can interrupt between admission
 * and start without giving the units back.
 */

import type * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Exit from "effect/Exit";
import { dual } from "effect/Function";

import { checkOptions } from "../../core/options/checks.ts";
import type { Limit } from "./limit.ts";
import { RateLimiter } from "./rate_limiter.ts";
import type { RateLimitError } from "./errors.ts";

/** The options of `withLimit`. */
export interface WithLimitOptions<A = unknown, E = unknown> {
  /** The limit. */
  readonly limit: Limit;
  /** The owner of the units: a non-empty string. */
  readonly key: string;
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /** The reaction to a refusal: `"fail"` (default) with the reason `RateLimited`, or `"wait"`. */
  readonly onExceeded?: "fail" | "wait" | undefined;
  /** With `"wait"`, the longest wait; unlimited unless given. */
  readonly maxWait?: Duration.Input | undefined;
  /**
   * Which outcomes give the units back: failures that should not count, for example. Units that
   * have been renewed since they were taken are not given back, because they belong to later calls.
   */
  readonly refundIf?: ((exit: Exit.Exit<A, E>) => boolean) | undefined;
}

/**
 * Puts an effect under a limit: it runs once its units are taken, or fails with the reason
 * `RateLimited`.
 *
 * The delay of a `leakyQueue` is waited out first. An interrupt before the effect has started gives
 * the units back. A later interrupt leaves them taken, because an effect that has started counts.
 *
 * @example In the queue, for at most two seconds
 * ```ts
 * import { Effect } from "effect";
 * import { gcra } from "tidegate";
 * import { layerMemory, limit, withLimit } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const mail = limit("mail", gcra({ limit: 10, period: "1s", burst: 1 }));
 * const send = Effect.succeed("sent").pipe(
 *   withLimit({ limit: mail, key: "smtp", onExceeded: "wait", maxWait: "2 seconds" }),
 * );
 *
 * const program = Effect.all([send, send], { concurrency: "unbounded" });
 * assert.deepEqual(await Effect.runPromise(Effect.provide(program, layerMemory())), [
 *   "sent",
 *   "sent",
 * ]);
 * ```
 */
export const withLimit: {
  (
    options: WithLimitOptions & { readonly refundIf?: undefined },
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Limited<A, E, R>;
  <A, E>(
    options: WithLimitOptions<NoInfer<A>, NoInfer<E>>,
  ): <R>(self: Effect.Effect<A, E, R>) => Limited<A, E, R>;
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    options: WithLimitOptions<NoInfer<A>, NoInfer<E>>,
  ): Limited<A, E, R>;
} = dual(2, <A, E, R>(
  self: Effect.Effect<A, E, R>,
  options: WithLimitOptions<A, E>,
): Limited<A, E, R> => {
  // A wrong option is a defect of the effect: what makes an effect does not throw.
  try {
    checkOptions<WithLimitOptions<A, E>>("limit an effect", options, {
      limit: true,
      key: true,
      cost: true,
      onExceeded: true,
      maxWait: true,
      refundIf: true,
    });
  } catch (cause) {
    return Effect.die(cause);
  }
  const { limit, key, cost, onExceeded = "fail", maxWait, refundIf } = options;
  return Effect.flatMap(
    RateLimiter,
    (limiter) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          limiter.admit(limit, key, { cost, maxWait, wait: onExceeded === "wait", restore }),
          ({ decision, undo }) => {
            let started = false;
            const body = Effect.suspend(() => {
              started = true;
              return self;
            });
            const delay = onExceeded === "wait" ? 0 : decision.delay;
            const delayed = delay === 0 ? body : Effect.andThen(Effect.sleep(delay), body);
            return Effect.onExit(
              restore(delayed),
              (exit) => !started || refundIf?.(exit) === true ? undo : Effect.void,
            );
          },
        )
      ),
  );
});

/** An effect under a limit. */
export type Limited<A, E, R> = Effect.Effect<
  A,
  E | RateLimitError,
  R | RateLimiter
>;
