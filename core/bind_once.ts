import type { BoundVerb, Family, StoreMode, Verb } from "./store.ts";

/**
 * The `bind` of a family, from a function that binds a verb: each verb is bound once. Verbs are
 * written, not made at run time, so there are only a few of them.
 */
export function bindOnce<Mode extends StoreMode>(
  make: <Argument, Answer>(verb: Verb<Argument, Answer>) => BoundVerb<Argument, Answer, Mode>,
): Family<Mode>["bind"] {
  const bound = new Map<unknown, unknown>();
  // Most families run one verb, and comparing it is faster than looking it up.
  let recent: unknown;
  let recentBound: unknown;
  return function bind<Argument, Answer>(verb: Verb<Argument, Answer>) {
    if (verb === recent) return recentBound as BoundVerb<Argument, Answer, Mode>;
    const known = bound.get(verb) as BoundVerb<Argument, Answer, Mode> | undefined;
    const made = known ?? make(verb);
    if (known === undefined) bound.set(verb, made);
    recent = verb;
    recentBound = made;
    return made;
  };
}
