import type { Family } from "../store.ts";
import { keyFamily } from "../stored_key.ts";
import type { LimiterInternals } from "./limiter_internals.ts";

const known = new WeakMap<Family, readonly string[]>();

/** The names of the families of a limiter's keys: its own, then those of its older options. */
export function familiesOf({ family }: LimiterInternals): readonly string[] {
  let names = known.get(family);
  if (names === undefined) {
    const { prefix, algorithm, older } = family.spec;
    names = [algorithm, ...older.map(({ algorithm }) => algorithm)]
      .map(({ id }) => keyFamily(prefix, id));
    known.set(family, names);
  }
  return names;
}
