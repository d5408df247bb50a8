/*
 * Makes a store of the contract of one that implements the old contract: a verb becomes an algorithm
 * whose step is the verb, and a key the text that the old contract stores it under.
 */

import type { Algorithm } from "../algorithm.ts";
import { bindOnce } from "../bind_once.ts";
import { fieldsOf } from "../algorithms/fields_of.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { allOf, andThen, type MaybePromise } from "../maybe_promise.ts";
import type { BoundVerb, Family, FamilySpec, Operation, StoreBase, Verb } from "../store.ts";
import { storedKey } from "../stored_key.ts";
import { consume } from "../verbs/consume.ts";
import { peek } from "../verbs/peek.ts";
import { refund } from "../verbs/refund.ts";
import type {
  Operation as OldOperation,
  PreparedCall,
  Replaced,
  StoreBase as OldBase,
} from "./old_store.ts";

type OldStore = OldBase<
  MaybePromise<readonly Decision[]>,
  MaybePromise<Decision>,
  MaybePromise<void>
>;

/** The operation of one call, and how its decision becomes the verb's answer. */
interface OldCall {
  readonly operation: OldOperation;
  answerOf(decision: Decision, isCharged: boolean, now: number | undefined): unknown;
}

interface OldBound extends BoundVerb<unknown, unknown> {
  callOn(key: string, argument: unknown): OldCall;
}

/** What stays of an old store beside its operations. */
type Rest<Old> = Omit<Old, "run" | "accepts" | "delete" | "internals">;

/** A store of the contract, on one of the old contract. */
export function adaptOldStore<Old extends object>(old: Old): Rest<Old> & StoreBase {
  const store = old as unknown as OldStore;

  function open(spec: FamilySpec): Family {
    store.accepts(spec.algorithm);
    const family = oldFamily(store, spec);
    return family;
  }

  function run(operations: readonly Operation[], now?: number): MaybePromise<readonly unknown[]> {
    const calls = operations.map(({ bound, key, argument }) =>
      (bound as unknown as OldBound).callOn(key, argument)
    );
    const replaced = calls.map(({ operation }, index) =>
      withReplaced(
        store,
        operations[index]!.bound.family.spec,
        operations[index]!.key,
        operation,
        now,
      )
    );
    return andThen(allOf(replaced), (ready) =>
      andThen(store.run(ready, now), (decisions) => {
        const isCharged = decisions.every(({ allowed }) => allowed);
        return decisions.map((decision, index) => calls[index]!.answerOf(decision, isCharged, now));
      }));
  }

  const { run: _run, accepts: _accepts, delete: _delete, internals, ...rest } = store;
  return { ...rest, open, run, maxOperations: internals?.mostOperations } as unknown as
    & Rest<Old>
    & StoreBase;
}

function oldFamily(store: OldStore, spec: FamilySpec): Family {
  const { prefix, algorithm, older } = spec;
  const nameOf = (key: string, id = algorithm.id) =>
    store.internals?.keyOf?.(prefix, id, key) ?? storedKey(prefix, id, key);
  const prepared = older.length === 0 ? store.internals?.prepare?.(prefix, algorithm) : undefined;
  const family: Family = {
    spec,
    bind: bindOnce((verb) => boundVerb(store, family, verb, nameOf, prepared)),
    delete: (key: string) =>
      andThen(
        allOf<void>([
          store.delete(nameOf(key)),
          ...older.map(({ algorithm: { id } }) => store.delete(nameOf(key, id))),
        ]),
        () => {},
      ),
    nameOf: (key: string) => nameOf(key),
    ...(store.internals?.watch === undefined
      ? {}
      : { watch: (key: string) => store.internals!.watch!(nameOf(key)) }),
  } as unknown as Family;
  return family;
}

function boundVerb<Argument, Answer>(
  store: OldStore,
  family: Family,
  verb: Verb<Argument, Answer>,
  nameOf: (key: string) => string,
  prepared: PreparedCall<MaybePromise<Decision>> | undefined,
): BoundVerb<Argument, Answer> {
  const { spec } = family;
  const steps = verb.on(spec.algorithm);

  function callOn(key: string, argument: Argument): OldCall {
    let last: Answer | undefined;
    const isLook = verb.kind === "look";
    const units = verb.units(argument);
    const stepped = (verb as unknown) === consume || (verb as unknown) === peek ||
        (verb as unknown) === refund
      ? spec.algorithm
      : wrapped(spec.algorithm, verb, (state, now) => {
        const next = steps.next(state, now, argument);
        last = steps.answer(state, next, now, argument);
        return [verb.decisionOf(last), next];
      });
    const cost = verb.kind === "free" ? -units : units;
    return {
      operation: { key: nameOf(key), algorithm: stepped, cost, dry: isLook },
      answerOf: (decision, isCharged) =>
        isCharged && last !== undefined ? verb.answerOf(decision, last) : verb.answerOf(decision),
    };
  }

  function call(key: string, argument: Argument, now: number | undefined): MaybePromise<Answer> {
    const { operation, answerOf } = callOn(key, argument);
    return andThen(
      withReplaced(store, spec, key, operation, now),
      (ready) =>
        andThen(store.run([ready], now), ([decision]) => answerOf(decision!, true, now) as Answer),
    );
  }

  return {
    family,
    verb,
    steps,
    callOn,
    call: (prepared === undefined ? undefined : preparedCall(verb, prepared)) ?? call,
  } as unknown as BoundVerb<Argument, Answer>;
}

function preparedCall<Argument, Answer>(
  verb: Verb<Argument, Answer>,
  prepared: PreparedCall<MaybePromise<Decision>>,
) {
  const own = verb as unknown;
  if (own === consume) {
    return (key: string, cost: number, now: number | undefined) => prepared(key, cost, false, now);
  }
  if (own === peek) {
    return (key: string, cost: number, now: number | undefined) => prepared(key, cost, true, now);
  }
  if (own !== refund) return undefined;
  return (key: string, cost: number, now: number | undefined) => prepared(key, -cost, false, now);
}

/** The same algorithm with another step, which a look (cost 0) leaves out. */
function wrapped(
  algorithm: Algorithm,
  verb: Verb<never, unknown>,
  step: (state: unknown, now: number) => readonly [Decision, unknown],
): Algorithm {
  const { parts, slots, formula } = algorithm.internals ?? {};
  const { decide } = splitReducer(algorithm);
  const transition = verb.transition(algorithm);
  const charged = transition === "charge" && formula !== undefined
    ? ["charge", formula]
    : undefined;
  return {
    ...fieldsOf(algorithm),
    step: (state, now, cost) =>
      cost === 0 ? [decide(state, state, now, 0), state] : step(state, now),
    internals: { parts, slots, formula: charged },
  };
}

/** An operation with what its key takes over from: the newest older options that hold use. */
function withReplaced(
  store: OldStore,
  { prefix, older }: FamilySpec,
  key: string,
  operation: OldOperation,
  now: number | undefined,
): MaybePromise<OldOperation> {
  if (older.length === 0) return operation;
  const all = older.map(({ algorithm, mode }): Replaced => ({
    key: store.internals?.keyOf?.(prefix, algorithm.id, key) ??
      storedKey(prefix, algorithm.id, key),
    algorithm,
    mode,
  }));
  if (all.length === 1) return { ...operation, replaces: all[0] };
  const looks = all.map(({ key, algorithm }) =>
    store.run([{ key, algorithm, cost: 0, dry: true }], now)
  );
  return andThen(allOf(looks), (answers) => {
    const replaces = all.find((_, index) => answers[index]![0]!.resetAfter > 0);
    return replaces === undefined ? operation : { ...operation, replaces };
  });
}
