import type { Ability, Algorithm } from "../algorithm.ts";

/** Whether an algorithm, or a part of it, has an ability. */
export function can({ internals }: Algorithm, ability: Ability): boolean {
  return (internals?.abilities as Abilities | undefined)?.[ability] !== undefined;
}

/** The abilities of several algorithms together. */
export function abilitiesOf(algorithms: readonly Algorithm[]): Abilities {
  return Object.freeze(Object.assign({}, ...algorithms.map((it) => it.internals?.abilities)));
}

/** Abilities, and what functions on limiters need for them. */
export type Abilities = { readonly [Name in Ability]?: unknown };
