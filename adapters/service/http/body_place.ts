/*
 * Places in the body of a call, which refusals name.
 */

import { refuse } from "./service_answer.ts";

/** A place in the body, or the index of a request, which becomes text only if something is wrong. */
export type Place = string | number;

/** A place inside another. */
export function at(place: Place, name: string): string {
  const start = typeof place === "number" ? `[${place}]` : place;
  return start === "" || name === "" ? start + name : `${start}.${name}`;
}

/** Refuses a body because of the value at one place in it. */
export function refuseAt(place: Place, name: string, rule: string): never {
  refuse(400, `${at(place, name) || "the body"} ${rule}`);
}
