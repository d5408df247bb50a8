/*
 * Permits of `concurrency` as scoped resources. A permit is released when its scope is closed, and
 * the wait for one can be interrupted at any time: a permit that arrives nevertheless is released.
 */

import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";
import type * as Scope from "effect/Scope";

import type { AnyLimiterBase } from "../../core/limiter/limiter_types.ts";
import type { Held, Permit } from "../../core/limiter/permit.ts";
import { hold } from "../../core/waiting/hold.ts";
import { checkOptions } from "../../core/options/checks.ts";
import {
  type Binder,
  type BoundLimit,
  recordVerdict,
  storeEffect,
  whenSettled,
} from "./bound_limit.ts";
import { type Decision, withDurations } from "./decision.ts";
import { PermitLost, RateLimited, type RateLimitStoreError } from "./errors.ts";
import type { Limit } from "./limit.ts";

/** The options of `hold`. */
export interface HoldOptions {
  /** Units to hold, an integer of at least 1; default 1. */
  readonly cost?: number | undefined;
  /** The longest wait for a permit; without it a refusal fails at once. */
  readonly maxWait?: Duration.Input | undefined;
}

/** A permit that is held until its scope is closed. */
export interface HeldPermit {
  /** The decision that admitted it. */
  readonly decision: Decision;
  /**
   * Fails with `PermitLost` when the permit is lost: it could not be renewed in time, or was held for
   * `maxHold`. Others may hold its units from then on, so race the work with it, as `withPermit` does.
   */
  readonly lost: Effect.Effect<never, PermitLost>;
}

/** A limit names any algorithm, so it is `hold` that throws if that has no permits. */
type PermitLimiter = AnyLimiterBase<"permits">;

/** Holds a permit until the scope is closed. */
export function holdPermit(
  bind: Binder,
  limit: Limit,
  key: string,
  options: HoldOptions = {},
): Effect.Effect<HeldPermit, RateLimited | RateLimitStoreError, Scope.Scope> {
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      storeEffect((fiber) => {
        checkOptions<HoldOptions>("hold", options, { cost: true, maxWait: true });
        const { cost = 1, maxWait } = options;
        const bound = bind(limit, fiber);
        const { limiter, attributes } = bound;
        const given = (held: Held) => givenPermit(fiber, bound, key, cost, held);
        if (maxWait === undefined) {
          const held = hold(limiter as never as PermitLimiter, key, { cost });
          return whenSettled(held, given, "RateLimiter.hold", attributes);
        }
        const waiting = waitForPermit(bound, key, cost, Duration.fromInputUnsafe(maxWait));
        const traced = Effect.withSpan(restore(waiting), "RateLimiter.hold", { attributes });
        return Effect.flatMap(traced, given);
      }),
      ({ decision, permit }) =>
        Effect.as(
          Effect.addFinalizer(() => release(permit)),
          { decision: withDurations(decision), lost: lostOf(permit, limit, key) },
        ),
    )
  );
}

/** A verdict and its permit; fails if there is none. */
function givenPermit(
  fiber: Fiber.Fiber<unknown, unknown>,
  bound: BoundLimit,
  key: string,
  cost: number,
  { decision, permit }: Held,
): Effect.Effect<Required<Pick<Held, "decision">> & { readonly permit: Permit }, RateLimited> {
  recordVerdict(fiber, bound, "hold", decision, cost);
  if (permit !== undefined) return Effect.succeed({ decision, permit });
  const refusal = withDurations(decision);
  const { prefix } = bound.limit;
  return Effect.fail(
    new RateLimited({ prefix, key, cost, retryAfter: refusal.retryAfter, decision: refusal }),
  );
}

/** Waits for a permit. An interrupt completes only when no permit is held any more. */
function waitForPermit(
  { limiter }: BoundLimit,
  key: string,
  cost: number,
  maxWait: Duration.Duration,
): Effect.Effect<Held> {
  return Effect.callback<Held>((resume, signal) => {
    const options = { cost, maxWait: Duration.toMillis(maxWait), signal };
    const held = hold(limiter as never as PermitLimiter, key, options);
    const waiting: Promise<Held> = Promise.resolve(held);
    waiting.then((held) => resume(Effect.succeed(held)), (cause) => resume(Effect.die(cause)));
    return Effect.promise(() => waiting.then(({ permit }) => permit?.release(), () => undefined));
  });
}

function release(permit: Permit): Effect.Effect<void> {
  return Effect.suspend(() =>
    whenSettled(permit.release(), () => Effect.void, "RateLimiter.release")
  );
}

/** Fails when a permit is lost. */
function lostOf(permit: Permit, { prefix }: Limit, key: string): Effect.Effect<never, PermitLost> {
  return Effect.interruptible(Effect.callback<never, PermitLost>((resume) => {
    const { signal } = permit;
    const lost = () => {
      const { message } = signal.reason as Error;
      resume(Effect.fail(new PermitLost({ prefix, key, message, cause: signal.reason })));
    };
    if (signal.aborted) return lost();
    signal.addEventListener("abort", lost, { once: true });
    return Effect.sync(() => signal.removeEventListener("abort", lost));
  }));
}
