import { test } from "node:test";

import { share, upTo } from "./seed.ts";

type Work = () => Promise<void> | void;

/**
 * A test of which a runtime says no more than another one, and which takes long. In a run on several
 * runtimes one of them runs it, another one with another seed. It passes at once on the others, so
 * that each has equally many tests. A file that runs alone runs it in any case.
 */
export function testOnce(name: string, work: Work): void;
export function testOnce(
  name: string,
  options: { readonly skip?: boolean | string },
  work: Work,
): void;
export function testOnce(name: string, ...rest: [Work] | [object, Work]): void {
  const work = rest.at(-1) as Work;
  const options = rest.length === 2 ? rest[0] : {};
  test(name, options, isHere(name) ? () => work() : () => {});
}

/** Whether this runtime has the place of the name, of as many places as any few runtimes share. */
function isHere(name: string): boolean {
  return share(upTo(PLACES)).includes(placeOf(name));
}

/** A multiple of each number of runtimes. */
const PLACES = 6;

/** By FNV-1a, so that the tests of a file are spread. */
function placeOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  return (hash >>> 8) % PLACES;
}
