import type { Algorithm } from "../../../core/algorithm.ts";
import type { AsyncLimiter, Limiter } from "../../../core/limiter/limiter.ts";
import type { VirtualClock } from "../virtual_clock.ts";

/** Makes a limiter in whose store nothing is held, on the given clock. */
export type MakeLimiter = (
  algorithm: Algorithm,
  clock: VirtualClock,
) => Limiter | AsyncLimiter | Promise<Limiter | AsyncLimiter>;
