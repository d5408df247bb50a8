/*
 * Makes the fingerprints of keys for one thread, and forgets all keys of a prefix. The table holds
 * hashes, which do not tell the prefix of a key. So a key's hash includes a number, the generation of
 * its prefix. Nobody looks up keys of an earlier generation: they give way once they are fresh, or
 * when room is needed.
 *
 * The generation of a prefix is a key's state in the same table, under a name that no limiter's key
 * has. The header counts how often any prefix was reset, so that a thread looks again only then.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { setBounded } from "../../core/bounded_map.ts";
import type { Codec } from "../../core/codec.ts";
import type { Decision } from "../../core/decision.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { keyFamily } from "../../core/stored_key.ts";
import { header } from "./layout.ts";
import { hashFamily, type HashStart, hashStart, hashText } from "./table/hash.ts";

/** Milliseconds for which a generation is kept. Every key is fresh sooner. */
const KEPT_FOR = 2 ** 52;
/** The most families whose hash a thread remembers. */
const MAX_REMEMBERED = 1_000;

/** The hash of a key in two halves; the low two bits of `low` are 0. */
export interface Fingerprint {
  readonly low: number;
  readonly high: number;
}

/** Runs a call on a key. */
type Call = (key: Fingerprint, algorithm: Algorithm, cost: number) => Decision;

/** The fingerprints for a store's memory. `call` reads the generations. */
export function fingerprints(ints: Int32Array, call: Call) {
  const start = hashStart(ints[header.hashKeyLow]!, ints[header.hashKeyHigh]!);
  const families = new Map<string, HashStart>();
  let seen = 0;

  /**
   * Raises the generation of a prefix and returns it. `name` is the beginning of the prefix's
   * families.
   */
  function generation(name: string, raised: number): number {
    // No stored key of a limiter ends like this.
    return call(fingerprintFrom(start, `${name} generation`), counting, raised).remaining;
  }

  function startOf(family: string): HashStart {
    const known = families.get(family);
    if (known !== undefined) return known;
    const name = family.slice(0, family.indexOf(":{}:") + ":{}:".length);
    const number = ints[header.resets] === 0 ? 0 : generation(name, 0);
    const made = hashFamily(start, number === 0 ? family : `${number} ${family}`);
    setBounded(families, family, made, MAX_REMEMBERED);
    return made;
  }

  return {
    /**
     * Forgets where the hashes of families begin if keys of a prefix were reset, and returns
     * whether it did. A store asks at the start of a call, not in the middle, because the answer is
     * a call by itself.
     */
    renew(): boolean {
      const before = seen;
      seen = ints[header.resets]!;
      if (seen !== before) families.clear();
      return seen !== before;
    },
    /** Where the hashes of a family's keys begin; `name` is that of `keyFamily`. */
    startOf: (name: string): HashStart => startOf(name),
    /** Forgets all keys of a prefix. */
    forgetAll(prefix: string): void {
      generation(keyFamily(prefix, ""), 1);
      Atomics.add(ints, header.resets, 1);
    },
  };
}

/** Filled anew by each hash: to make a typed array takes longer than to hash a key. */
const hashed = new Int32Array(2);

/** The fingerprint of a key, by where the hashes of its family begin. */
export function fingerprintFrom(start: HashStart, text: string): Fingerprint {
  hashText(start, text, hashed);
  return { low: hashed[0]! & ~3, high: hashed[1]! };
}

const count: Algorithm<number>["step"] = (state, _now, cost) => {
  const next = state + cost;
  // Debt makes a full store forget the generation last. Without it, keys that were reset would be
  // back.
  return [makeDecision(true, 0, next, 0, 0, KEPT_FOR, 0, 1, undefined, undefined), next];
};

/** Counts a number up. `remaining` is the count. */
const counting: Algorithm = {
  name: "generation",
  id: "generation",
  policies: [],
  capacity: 1,
  initial: 0,
  step: count,
  charge: count,
  // One number is kept as it is.
  codec: { maxWords: 1 } as Codec<number>,
} as Algorithm<number> as Algorithm;
