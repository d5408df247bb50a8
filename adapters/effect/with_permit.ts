/*
 * Puts a limit on how many effects run at once: each one runs while it holds a permit.
 */

import * as Effect from "effect/Effect";
import { dual } from "effect/Function";
import * as Scope from "effect/Scope";

import { checkOptions } from "../../core/options/checks.ts";
import type { RateLimitError } from "./errors.ts";
import type { HoldOptions } from "./held_permit.ts";
import type { Limit } from "./limit.ts";
import { RateLimiter } from "./rate_limiter.ts";

/** The options of `withPermit`. */
export interface WithPermitOptions extends HoldOptions {
  /** The limit: of `concurrency`, or of an `all` with it. */
  readonly limit: Limit;
  /** The owner of the units: a non-empty string. */
  readonly key: string;
}

/** An effect that runs while it holds a permit. */
export type Permitted<A, E, R> = Effect.Effect<
  A,
  E | RateLimitError,
  R | RateLimiter
>;

/**
 * Runs an effect while a permit of `concurrency` is held for it, or fails with the reason
 * `RateLimited`.
 *
 * The permit is released when the effect has succeeded, failed or been interrupted, and not before
 * its finalizers have run. It is renewed meanwhile; if it is lost, the effect is interrupted, and
 * `withPermit` fails with the reason `PermitLost`.
 *
 * @example Two exports at once for each user
 * ```ts
 * import { Effect } from "effect";
 * import { concurrency } from "tidegate";
 * import { layerMemory, limit, withPermit } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const exports = limit("exports", concurrency({ limit: 2, ttl: "30s" }));
 * const work = Effect.as(Effect.yieldNow, "exported");
 * const one = withPermit(work, { limit: exports, key: "user:42" });
 *
 * const three = Effect.all([one, one, Effect.flip(one)], { concurrency: "unbounded" });
 * const [first, , refused] = await Effect.runPromise(Effect.provide(three, layerMemory()));
 * assert.equal(first, "exported");
 * assert.equal(refused.reason._tag, "RateLimited");
 * ```
 */
export const withPermit: {
  (
    options: WithPermitOptions,
  ): <A, E, R>(self: Effect.Effect<A, E, R>) => Permitted<A, E, R>;
  <A, E, R>(self: Effect.Effect<A, E, R>, options: WithPermitOptions): Permitted<A, E, R>;
} = dual(2, <A, E, R>(
  self: Effect.Effect<A, E, R>,
  options: WithPermitOptions,
): Permitted<A, E, R> => {
  // A wrong option is a defect of the effect: what makes an effect does not throw.
  try {
    checkOptions<WithPermitOptions>("hold a permit for an effect", options, {
      limit: true,
      key: true,
      cost: true,
      maxWait: true,
    });
  } catch (cause) {
    return Effect.die(cause);
  }
  const { limit, key, cost, maxWait } = options;
  // The scope is only for the permit. Resources that the effect opens belong to the effect's own
  // scope.
  return Effect.flatMap(
    RateLimiter,
    (limiter) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Scope.make(), (scope) =>
          Effect.onExit(
            Effect.flatMap(
              restore(Scope.provide(limiter.hold(limit, key, { cost, maxWait }), scope)),
              ({ lost }) => restore(Effect.raceFirst(self, lost)),
            ),
            (exit) => Scope.close(scope, exit),
          ))
      ),
  );
});
