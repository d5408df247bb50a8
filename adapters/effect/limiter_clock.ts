/*
 * Effect's time for limiters.
 *
 * A limiter takes its clock when it is made; a fiber may be given another one at any time, a
 * `TestClock` above all. So the service keeps a limiter for each clock that it meets, all of them on
 * one store, and each call goes to the limiter of its own fiber's clock.
 *
 * The default clock is no clock of its own: it is `Date.now`. A fiber on it leaves the
 * time to the store, which on Redis is the server's.
 */

import * as Clock from "effect/Clock";
import * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";
import * as Scheduler from "effect/Scheduler";

import type { Clock as LimiterClock } from "../../core/clock.ts";

/**
 * The clock of a fiber, as a limiter takes it; `undefined` if it is the default one.
 *
 * Waiting on it is a fiber that sleeps on the same clock, under the scheduler of the fiber at hand.
 */
export function limiterClock(
  fiber: Fiber.Fiber<unknown, unknown>,
  clock: Clock.Clock,
): LimiterClock | undefined {
  if (isDefault(clock)) return undefined;
  const context = Context.make(Clock.Clock, clock).pipe(
    Context.add(Scheduler.Scheduler, fiber.getRef(Scheduler.Scheduler)),
  );

  function after(milliseconds: number, wake: () => void): () => void {
    let awaited = true;
    // A sleep of no length ends at once; what waits must know how to cancel before.
    const wakeNext = Effect.sync(() => queueMicrotask(() => awaited && wake()));
    const sleep = Effect.andThen(clock.sleep(Duration.millis(milliseconds)), wakeNext);
    const sleeper = Effect.runForkWith(context)(sleep);
    return function cancel(): void {
      awaited = false;
      sleeper.interruptUnsafe();
    };
  }

  return Object.assign(() => clock.currentTimeMillisUnsafe(), { after });
}

/** The time of a clock; `undefined` of the default one. */
export function timeOf(clock: Clock.Clock): number | undefined {
  return isDefault(clock) ? undefined : clock.currentTimeMillisUnsafe();
}

function isDefault(clock: Clock.Clock): boolean {
  return clock === Context.get(Context.empty(), Clock.Clock);
}
