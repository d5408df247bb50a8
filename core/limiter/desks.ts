/*
 * How a limiter finds the methods that only some algorithms have: permits, and blocks by hand. Such an
 * algorithm brings its methods along, so a bundle without such an algorithm does not contain them.
 */

import type { Algorithm } from "../algorithm.ts";
import { typeError } from "../options/checks.ts";
import type { BlockDesk, OpenBlocks } from "./block_key.ts";
import type { OpenPermits, PermitDesk } from "./permit_desk.ts";

/** The openers of such methods of a limiter. */
interface Desks {
  readonly blocks?: OpenBlocks;
  readonly permits?: OpenPermits;
}

const desks = new WeakMap<Algorithm, Desks>();

/** Registers how limiters of an algorithm open the methods that not all algorithms have. */
export function bringDesks(algorithm: object, own: Desks): void {
  desks.set(algorithm as Algorithm, own);
}

/** The blocks of a limiter; those of an algorithm that is not blockable throw a `TypeError`. */
export function blockDesk(algorithm: Algorithm, ...given: Parameters<OpenBlocks>): BlockDesk {
  const open = deskOf(algorithm, "blocks");
  if (open !== undefined) return open(...given);
  const refuse = (action: string) => () => {
    throw typeError(`${action} a key`, "the algorithm must be blockable(...)", algorithm.id);
  };
  return { block: refuse("block"), unblock: refuse("unblock") };
}

/** The permits of a limiter; those of an algorithm without any throw a `TypeError`. */
export function permitDesk(...given: Parameters<OpenPermits>): PermitDesk {
  const [{ algorithm }] = given;
  const open = deskOf(algorithm, "permits");
  if (open !== undefined) return open(...given);
  const hold = () => {
    const rule = "its algorithm must be concurrency(...), or an all(...) that contains it";
    throw typeError("hold a permit", rule, algorithm.id);
  };
  return { hold, withPermit: () => Promise.resolve().then(hold) };
}

/** The opener that an algorithm brings, or the first algorithm within it that brings one. */
function deskOf<Name extends keyof Desks>(algorithm: Algorithm, name: Name): Desks[Name] {
  const own = desks.get(algorithm)?.[name];
  if (own !== undefined) return own;
  const { parts = [], blocks } = algorithm.internals ?? {};
  for (const part of blocks === undefined ? parts : [blocks.inner]) {
    const desk = deskOf(part, name);
    if (desk !== undefined) return desk;
  }
  return undefined;
}
