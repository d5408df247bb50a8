/*
 * Permits of `concurrency` as scoped resources. A permit is released when its scope is closed, and
 * the wait for one can be interrupted at any time: a permit that arrives nevertheless is released.
 */

import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Scope from "effect/Scope";

import type { AnyLimiterBase } from "../../core/limiter/limiter_types.ts";
import type { Held, Permit } from "../../core/limiter/permit.ts";
import { hold } from "../../core/waiting/hold.ts";
import { checkOptions } from "../../core/options/checks.ts";
import { refusalError } from "./admission.ts";
import {
  type Binder,
  type BoundLimit,
  callStore,
  failed,
  recordVerdict,
  storeFailure,
} from "./bound_limit.ts";
import { type Decision, withDurations } from "./decision.ts";
import { PermitLost, RateLimitError } from "./errors.ts";
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
   * Fails with the reason `PermitLost` when the permit is lost: it could not be renewed in time, or
   * was held for `maxHold`. Others may hold its units from then on, so race the work with it, as
   * `withPermit` does.
   */
  readonly lost: Effect.Effect<never, RateLimitError>;
}

/** A limit names any algorithm, so it is `hold` that throws if that has no permits. */
type PermitLimiter = AnyLimiterBase<"permits">;

/** Holds a permit until the scope is closed. */
export function holdPermit(
  bind: Binder,
  limit: Limit,
  key: string,
  options: HoldOptions = {},
): Effect.Effect<HeldPermit, RateLimitError, Scope.Scope> {
  const held = (restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
    Effect.withFiber<Held, RateLimitError>((fiber) => {
      checkOptions<HoldOptions>("hold", options, { cost: true, maxWait: true });
      const { cost = 1, maxWait } = options;
      const bound = bind(limit, fiber);
      const { limiter, attributes } = bound;
      const answered = (held: Held) => {
        recordVerdict(fiber, bound, "hold", held.decision, cost);
        return held.permit === undefined
          ? Effect.fail(refusalError(limit, key, cost, held.decision))
          : Effect.succeed(held);
      };
      if (maxWait === undefined) {
        const call = () => hold(limiter as never as PermitLimiter, key, { cost });
        return callStore(call, answered, storeFailure, "RateLimiter.hold", attributes);
      }
      const waiting = waitForPermit(bound, key, cost, Duration.fromInputUnsafe(maxWait));
      const traced = Effect.withSpan(restore(waiting), "RateLimiter.hold", { attributes });
      return Effect.flatMap(traced, answered);
    });
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(held(restore), ({ decision, permit }) =>
      Effect.as(
        Effect.addFinalizer(() => release(permit!)),
        { decision: withDurations(decision), lost: lostOf(permit!, limit, key) },
      ))
  );
}

/** Waits for a permit. An interrupt completes only when no permit is held any more. */
function waitForPermit(
  { limiter }: BoundLimit,
  key: string,
  cost: number,
  maxWait: Duration.Duration,
): Effect.Effect<Held, RateLimitError> {
  return Effect.callback((resume, signal) => {
    const options = { cost, maxWait: Duration.toMillis(maxWait), signal };
    const waiting = (async () => await hold(limiter as never as PermitLimiter, key, options))();
    waiting.then((held) => resume(Effect.succeed(held)), (cause) => resume(failed(cause)));
    return Effect.promise(() => waiting.then(({ permit }) => permit?.release(), () => undefined));
  });
}

/** Releases a permit, which never fails. */
function release(permit: Permit): Effect.Effect<void> {
  return callStore(() => permit.release(), () => Effect.void, rethrow, "RateLimiter.release");
}

function rethrow(cause: unknown): never {
  throw cause;
}

/** Fails when a permit is lost. */
function lostOf(
  permit: Permit,
  { prefix }: Limit,
  key: string,
): Effect.Effect<never, RateLimitError> {
  return Effect.interruptible(Effect.callback((resume) => {
    const { signal } = permit;
    const lost = () => {
      const { message } = signal.reason as Error;
      const reason = new PermitLost({ prefix, key, message, cause: signal.reason });
      resume(Effect.fail(new RateLimitError({ reason })));
    };
    if (signal.aborted) return lost();
    signal.addEventListener("abort", lost, { once: true });
    return Effect.sync(() => signal.removeEventListener("abort", lost));
  }));
}
