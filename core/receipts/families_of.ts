import { keyFamily } from "../stored_key.ts";
import type { LimiterInternals } from "../limiter/limiter_internals.ts";

/** The names of the families of a limiter's keys: its own, then those of its older options. */
export function familiesOf(limiter: LimiterInternals): readonly string[] {
  const { prefix, algorithm, older } = limiter.family.spec;
  return limiter.families ??= [algorithm, ...older.map((it) => it.algorithm)]
    .map(({ id }) => keyFamily(prefix, id));
}
