import type { Policy } from "../algorithm.ts";

/** The names of policies, made distinct: a second `100-in-60s` is `100-in-60s-2`. */
export function distinctNames(policies: readonly Policy[]): readonly string[] {
  const taken = new Set<string>();
  return policies.map(({ name }) => {
    let distinct = name;
    for (let count = 2; taken.has(distinct); count++) distinct = `${name}-${count}`;
    taken.add(distinct);
    return distinct;
  });
}
