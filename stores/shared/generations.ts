/*
 * How all keys of a prefix are forgotten. The table holds hashes, which do not say whose keys they
 * are; so the keys of a prefix are hashed with a number, its generation, and those of an earlier one
 * are never looked up again. They give way as they become fresh, or as room is needed.
 *
 * The generation of a prefix is a key's state in the same table, under a name that no limiter's key
 * has. The header counts how often any prefix was reset, so that a thread looks again only then.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { keyFamily } from "../../core/stored_key.ts";
import type { Codec } from "../../core/codec.ts";
import { header } from "./layout.ts";

/** For how long a generation is kept: no key is fresh later. */
const KEPT_FOR = 2 ** 52;

/** Runs a call on the key of a name that no generation is part of. */
export type CallByName = (name: string, algorithm: Algorithm, cost: number) => Decision;

/** The generations of prefixes, as one thread knows them. */
export interface Generations {
  /** Whether a prefix was reset since this was last asked. */
  haveChanged(): boolean;
  /** A family's name, with the generation of its prefix if that was ever reset. */
  nameOf(family: string): string;
  /** Raises the generation of a prefix. */
  raise(prefix: string): void;
}

/** The generations in a store's memory. */
export function generationsIn(ints: Int32Array, call: CallByName): Generations {
  let seen = 0;
  return {
    haveChanged() {
      const before = seen;
      seen = ints[header.resets]!;
      return seen !== before;
    },
    nameOf(family) {
      if (ints[header.resets] === 0) return family;
      const start = family.slice(0, family.indexOf(":{}:") + ":{}:".length);
      const { remaining } = call(nameOfGeneration(start), counting, 0);
      return remaining === 0 ? family : `${remaining} ${family}`;
    },
    raise(prefix) {
      call(nameOfGeneration(keyFamily(prefix, "")), counting, 1);
      Atomics.add(ints, header.resets, 1);
    },
  };
}

/** No stored key of a limiter ends like this. */
function nameOfGeneration(start: string): string {
  return `${start} generation`;
}

const numbers: Codec<number> = {
  maxWords: 1,
  write(state, words, offset) {
    words[offset] = state;
    return 1;
  },
  read: (words, offset) => words[offset],
  encode: String,
  decode: Number,
};

const count: Algorithm<number>["step"] = (state, _now, cost) => {
  const next = state + cost;
  return [makeDecision(true, 0, next, 0, 0, KEPT_FOR, 0, 0, undefined, undefined), next];
};

/** A number that is counted up; `remaining` says how far. */
const counting: Algorithm = {
  name: "generation",
  id: "generation",
  policies: [],
  capacity: 1,
  initial: 0,
  step: count,
  charge: count,
  codec: numbers,
} as Algorithm<number> as Algorithm;
