import type { BoundVerb, Family, StoreMode, Verb } from "./store.ts";

/**
 * The `bind` of a family, from a function that binds a verb: each verb is bound once. Verbs are
 * written, not made at run time, so there are only a few of them.
 */
export function bindOnce<Mode extends StoreMode>(
  make: <Argument, Answer>(verb: Verb<Argument, Answer>) => BoundVerb<Argument, Answer, Mode>,
): Family<Mode>["bind"] {
  const bound = new Map<unknown, unknown>();
  return function bind<Argument, Answer>(verb: Verb<Argument, Answer>) {
    const known = bound.get(verb) as BoundVerb<Argument, Answer, Mode> | undefined;
    if (known !== undefined) return known;
    const made = make(verb);
    bound.set(verb, made);
    return made;
  };
}
