import { test } from "node:test";
import { Clock, Context, Duration, Effect, Scheduler, Schema } from "effect";

import {
  Decision,
  limit,
  makeRateLimiter,
  RateLimitError,
} from "../../../adapters/effect/effect.ts";
import { limiterLaws, type VirtualClock } from "../../../adapters/testing/testing.ts";
import {
  type AcquireOptions,
  type Algorithm,
  type AsyncLimiter,
  type AsyncStore,
  type Decision as PlainDecision,
  memoryStore,
  RateLimitedError,
  type Store,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { fcOptions } from "../../support/seed.ts";

/** Effect's clock on the clock of the laws. */
function effectClock(clock: VirtualClock): Clock.Clock {
  const nanos = () => BigInt(clock()) * 1_000_000n;
  return {
    currentTimeMillisUnsafe: clock,
    currentTimeMillis: Effect.sync(clock),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback((resume) => {
        const cancel = clock.after(Duration.toMillis(duration), () => resume(Effect.void));
        return Effect.sync(cancel);
      }),
  };
}

/** Makes a plain limiter of the service. Every call is a fiber. */
function limiterOfFibers(
  algorithm: Algorithm,
  clock: VirtualClock,
  store: Store,
): AsyncLimiter & { acquire(key: string, options?: AcquireOptions): Promise<PlainDecision> } {
  const service = makeRateLimiter(store);
  const law = limit("law", algorithm);
  const context = Context.make(Clock.Clock, effectClock(clock)).pipe(
    Context.add(Scheduler.Scheduler, new Scheduler.MixedScheduler("sync")),
  );
  const run = Effect.runPromiseWith(context);
  const decide = async (effect: Effect.Effect<Decision, unknown>, signal?: AbortSignal) =>
    Schema.encodeSync(Decision)(await run(effect, { signal }));
  return {
    algorithm,
    store: store as AsyncStore,
    prefix: law.prefix,
    consume: (key, cost) => decide(service.consume(law, key, cost)),
    peek: (key, cost) => decide(service.peek(law, key, cost)),
    refund: (key, cost) => decide(service.refund(law, key, cost)),
    charge: (key, cost) => decide(service.charge(law, key, cost)),
    reset: (key) => run(service.reset(law, key)),
    resetPrefix: () => run(service.resetPrefix(law)),
    async acquire(key, { signal, cost, maxWait }: AcquireOptions = {}) {
      try {
        const wait = maxWait as number | undefined; // laws give numbers
        return await decide(service.acquire(law, key, { cost, maxWait: wait }), signal);
      } catch (error) {
        if (error instanceof RateLimitError && error.reason._tag === "RateLimited") {
          const { decision } = error.reason;
          throw new RateLimitedError(error.message, Schema.encodeSync(Decision)(decision));
        }
        throw signal?.aborted === true ? signal.reason : error;
      }
    },
  };
}

for (const [kind, makeStore] of Object.entries({ memoryStore, asyncMemoryStore })) {
  for (const law of limiterLaws((...on) => limiterOfFibers(...on, makeStore()) as AsyncLimiter)) {
    test(`RateLimiter on ${kind}: ${law.name}`, () => law.run(fcOptions({ numRuns: 20 })));
  }
}
