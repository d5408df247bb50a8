/*
 * The families of a store: they name keys, and bind verbs to them.
 */

import { longestReset } from "../../core/bounded_state.ts";
import { bindOnce } from "../../core/bind_once.ts";
import type { AsyncStore, Family, FamilySpec, Operation, Verb } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";
import { checkCost } from "../../core/options/checks.ts";
import type { Answer, Bound, KeySpace, Part, Several, SpacedKey } from "./call.ts";

/** A verb that is bound in this store. */
interface StoredBound extends Bound {
  /** Makes its operation in a call of several operations. */
  part(key: string, argument: unknown): Part;
}

/** The part of a store that its families need. */
interface FamilyStore {
  /** Makes stored keys of the keys of a prefix and an algorithm. */
  namer(prefix: string, id: string): (key: string) => string;
  /** Runs a verb on a key. */
  submit(
    space: KeySpace,
    key: string,
    at: number | undefined,
    bound: Bound,
    argument: unknown,
  ): Promise<Answer>;
  /** Runs operations, all or nothing. */
  submitSeveral(several: Several, at: number | undefined): Promise<Answer>;
  /** Forgets keys. */
  forget(keys: readonly SpacedKey[]): Promise<void>;
}

/** Makes the `open` of a store. */
export function familyOpener(store: FamilyStore): AsyncStore["open"] {
  return function open(spec) {
    const { prefix, algorithm, older } = spec;
    const spaceOf = (id: string): KeySpace => ({
      text: keyFamily(prefix, id),
      nameOf: store.namer(prefix, id),
    });
    const longest = longestReset(algorithm);
    const space = spaceOf(algorithm.id);
    const olderSpaces = older.map(({ algorithm: { id } }) => spaceOf(id));
    const olderOf = (key: string) => olderSpaces.map((space): SpacedKey => ({ space, key }));

    const family: Family<"async"> = {
      spec,
      bind: bindOnce<"async">((verb) => {
        const bound: StoredBound = {
          family,
          verb: verb as Verb<unknown, unknown>,
          steps: verb.on(algorithm) as Bound["steps"],
          longest,
          ...formulaOf(verb as Verb<unknown, unknown>, spec),
          part: (key, argument) => ({
            bound,
            space,
            key,
            argument,
            older: olderOf(key),
          }),
          call: older.length === 0
            ? (key, argument, now) => store.submit(space, key, now, bound, argument)
            : (key, argument, now) =>
              store.submitSeveral(severalOf([bound.part(key, argument)], true), now),
        };
        return bound as never;
      }),
      delete: (key) => store.forget([{ space, key }, ...olderOf(key)]),
      nameOf: space.nameOf,
    };
    return family;
  };
}

/**
 * Operations on keys of one store, to run all or nothing.
 *
 * @throws {RangeError} If the units of an operation are out of range.
 */
export function severalIn(operations: readonly Operation[]): Several {
  const parts = operations.map(({ bound, key, argument }) => {
    checkCost(bound.verb.name, bound.verb.units(argument), 0);
    return (bound as StoredBound).part(key, argument);
  });
  return severalOf(parts, false);
}

function severalOf(parts: readonly Part[], isSingle: boolean): Several {
  const keys = parts.flatMap((part): readonly SpacedKey[] => [part, ...part.older]);
  return { parts, keys, isSingle };
}

/** The script's view of a verb: the formula of its transition, and the direction. */
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
