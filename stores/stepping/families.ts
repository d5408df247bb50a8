/*
 * The families of a store: they name keys, and bind verbs to them.
 */

import { longestReset } from "../../core/bounded_state.ts";
import { bindOnce } from "../../core/bind_once.ts";
import { allOf, andThen, type MaybePromise } from "../../core/maybe_promise.ts";
import { checkCost, checkNow } from "../../core/options/checks.ts";
import type { Family, FamilySpec, Operation, StoreBase, Verb } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";
import type { Answer, Bound, KeySpace, Part, Several, SpacedKey } from "./call.ts";

/** A verb that is bound in this store. */
interface StoredBound extends Bound {
  /** Makes its operation in a call of several operations. */
  part(key: string, argument: unknown): Part;
}

/** Runs a call: of one verb, of several operations, or with neither to forget the key. */
export type Submit = (
  space: KeySpace,
  key: string,
  at: number | undefined,
  bound: Bound | undefined,
  argument: unknown,
  several: Several | undefined,
) => MaybePromise<Answer>;

/** The part of a store that its families need. */
interface FamilyStore {
  /** Makes stored keys of the keys of a prefix and an algorithm. */
  namer(prefix: string, id: string): (key: string) => string;
  readonly submit: Submit;
  /** Throws if keys cannot be committed together. */
  requireTogether?: ((keys: readonly SpacedKey[]) => void) | undefined;
}

/** Makes the members of a store that make calls. They answer by promises, or at once, as `submit` does. */
export function storeCalls(store: FamilyStore): Pick<StoreBase<"async">, "open" | "run"> {
  function submitSeveral(several: Several, at: number | undefined) {
    store.requireTogether?.(several.keys);
    const { space, key } = several.keys[0]!;
    return store.submit(space, key, at, undefined, undefined, several);
  }

  function forget(keys: readonly SpacedKey[]) {
    const gone = keys.map(({ space, key }) =>
      store.submit(space, key, undefined, undefined, undefined, undefined)
    );
    return andThen(allOf(gone), () => {});
  }

  function open(spec: FamilySpec) {
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
            ? (key, argument, now) =>
              store.submit(space, key, now, bound, argument, undefined) as Promise<Answer>
            : (key, argument, now) =>
              submitSeveral(severalOf([bound.part(key, argument)], true), now) as Promise<Answer>,
        };
        return bound as never;
      }),
      delete: (key) => forget([{ space, key }, ...olderOf(key)]) as Promise<void>,
      nameOf: space.nameOf,
    };
    return family;
  }

  function run(operations: readonly Operation[], at?: number): MaybePromise<unknown> {
    if (operations.length === 0) return [];
    const parts = operations.map(({ bound, key, argument }) => {
      checkCost(bound.verb.name, bound.verb.units(argument), 0);
      return (bound as StoredBound).part(key, argument);
    });
    return submitSeveral(severalOf(parts, false), at === undefined ? undefined : checkNow(at));
  }

  return { open, run: run as StoreBase<"async">["run"] };
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
