/*
 * The families of a store: they name keys, and bind verbs to them.
 */

import { bindOnce } from "../../core/bind_once.ts";
import type { AsyncStore, Family, FamilySpec, Verb } from "../../core/store.ts";
import type { Answer, Bound, Part } from "./job.ts";

/** A verb that is bound in this store. */
export interface StoredBound extends Bound {
  /** Its part in a call of several operations. */
  part(key: string, argument: unknown): Part;
}

/** The part of a store that its families need. */
interface FamilyStore {
  /** Makes stored keys of the keys of a prefix and an algorithm. */
  namer(prefix: string, id: string): (key: string) => string;
  /** Runs a verb on a stored key. */
  submit(name: string, at: number | undefined, bound: Bound, argument: unknown): Promise<Answer>;
  /** Runs operations, all or nothing. */
  submitParts(
    parts: readonly Part[],
    at: number | undefined,
    isSingle: boolean,
  ): Promise<Answer>;
  /** Forgets stored keys. */
  forget(names: readonly string[]): Promise<void>;
}

/** Makes the `open` of a store. */
export function familyOpener(store: FamilyStore): AsyncStore["open"] {
  return function open(spec) {
    const { prefix, algorithm, older } = spec;
    const nameOf = store.namer(prefix, algorithm.id);
    const olderNames = older.map(({ algorithm: { id } }) => store.namer(prefix, id));
    const olderOf = (key: string) => olderNames.map((nameOfOlder) => nameOfOlder(key));

    const family: Family<"async"> = {
      spec,
      bind: bindOnce<"async">((verb) => {
        const bound: StoredBound = {
          family,
          verb: verb as Verb<unknown, unknown>,
          steps: verb.on(algorithm) as Bound["steps"],
          ...formulaOf(verb as Verb<unknown, unknown>, spec),
          part: (key, argument) => ({
            bound,
            key,
            argument,
            name: nameOf(key),
            older: olderOf(key),
          }),
          call: older.length === 0
            ? (key, argument, now) => store.submit(nameOf(key), now, bound, argument)
            : (key, argument, now) => store.submitParts([bound.part(key, argument)], now, true),
        };
        return bound as never;
      }),
      delete: (key) => store.forget([nameOf(key), ...olderOf(key)]),
      nameOf,
    };
    return family;
  };
}

/** The script's view of a verb: the formula of its transition, and which way it goes. */
function formulaOf(
  verb: Verb<unknown, unknown>,
  { algorithm }: FamilySpec,
): Pick<Bound, "formula" | "sign"> {
  const own = algorithm.internals?.formula;
  if (own === undefined) return { formula: undefined, sign: 0 };
  if (verb.kind === "look") return { formula: own, sign: 0 };
  const transition = verb.transition(algorithm);
  if (transition === "charge") return { formula: ["charge", own], sign: 1 };
  if (transition === undefined) return { formula: undefined, sign: 0 };
  return { formula: own, sign: transition === "take" ? 1 : -1 };
}
