/*
 * How a limiter finds the methods that only some algorithms have: permits, and blocks by hand. Such an
 * algorithm brings its methods along, so a bundle without such an algorithm does not contain them.
 */

import type { Algorithm } from "../algorithm.ts";
import { typeError } from "../options/checks.ts";
import type { BlockDesk, OpenBlocks } from "./block_key.ts";
import type { OpenPermits, PermitDesk } from "./permit_desk.ts";

/** The openers of methods that not every limiter has. */
interface Desks {
  readonly blocks?: OpenBlocks;
  readonly permits?: OpenPermits;
}

const desks = new WeakMap<Algorithm, Desks>();

/** Registers how limiters of an algorithm open methods that other algorithms lack. */
export function bringDesks(algorithm: object, own: Desks): void {
  desks.set(algorithm as Algorithm, own);
}

/** The blocks of a limiter. If its algorithm is not blockable, they throw a `TypeError`. */
export function blockDesk(algorithm: Algorithm, ...given: Parameters<OpenBlocks>): BlockDesk {
  const open = deskOf(algorithm, "blocks");
  if (open !== undefined) return open(...given);
  const refuse = (action: string) => () => {
    throw typeError(`${action} a key`, "the algorithm must be blockable(...)", algorithm.id);
  };
  return { block: refuse("block"), unblock: refuse("unblock") };
}

/** The permits of a limiter. If its algorithm has none, they throw a `TypeError`. */
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

/** The opener of an algorithm, or of the first algorithm within it that has an opener. */
function deskOf<Name extends keyof Desks>(
  algorithm: Algorithm,
  name: Name,
): Desks[Name] | undefined {
  const own = desks.get(algorithm)?.[name];
  if (own !== undefined) return own;
  const { parts = [], wraps } = algorithm.internals ?? {};
  for (const part of wraps === undefined ? parts : [wraps.inner]) {
    const desk = deskOf(part, name);
    if (desk !== undefined) return desk;
  }
  return undefined;
}
