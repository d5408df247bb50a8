import {
  type AsyncLimiter,
  type AsyncStore,
  concurrency,
  limiter,
  type Store,
} from "../../../mod.ts";

/** Units of the key that all of them hold. */
export const LIMIT = 3;
/** Longer than any pause of a machine that is busy, because a holder that sleeps loses its permit. */
export const TTL = 3_000;
/** Holders in each process or thread. */
export const LANES = 4;

/** A limiter of permits, whose clock is ahead by some milliseconds. */
export function jobsOn(store: Store, shift: number = 0): AsyncLimiter<"permits"> {
  const algorithm = concurrency({ limit: LIMIT, ttl: TTL });
  const clock = shift === 0 ? undefined : () => Date.now() + shift;
  const options = { store: store as AsyncStore, prefix: "jobs", clock };
  return limiter(algorithm, options);
}
