/*
 * The contract between limiters and stores.
 *
 * An algorithm says what a key's state means. A verb says what a call does to that state: a pair of
 * pure functions, `next` for the state after the call and `answer` for what the caller receives.
 * `consume`, `peek`, `refund`, `charge` and one attempt of `acquire` are verbs (`core/verbs/`). Verbs
 * are data outside the algorithm: `verb.on(algorithm)` makes the pair for one algorithm, so a store
 * made of stores can run the same verb on another one.
 *
 * A store opens a family, the keys of one prefix and one algorithm, and binds verbs to it. It runs a
 * bound verb on one key, or several at one instant, all or nothing. In both cases it does the same
 * four things:
 *
 *   load      the state of each key; a key that holds none may take over from older options
 *   next      the state after the call; the same one (`===`) means that nothing is to be written
 *   answer    what the caller receives, which also says for how long the state must be kept
 *   commit    replace the states atomically; after a lost race, begin again
 *
 * One more pure function decides several calls: `transact` (`core/transact.ts`). Stores differ in where
 * states are, and in whether they answer at once or by promises. Text for a key is made only
 * where text is stored or shown: `Family.nameOf`.
 *
 * To follow a call, begin where a store binds verbs: `stores/memory/memory_family.ts`,
 * `stores/shared/shared_family.ts`, and `stores/stepping/families.ts` for Redis and databases. A
 * store may do the four things a second time, written out for calls on known keys.
 */

import type { Algorithm } from "./algorithm.ts";
import type { Decision, DecisionSource } from "./decision.ts";

/**
 * The effect of a verb, for code that need not know the verb itself: `"take"` takes units
 * if they are free, `"charge"` takes them in any case, `"free"` gives units back (`refund`, `settle`
 * and `release` do), `"look"` changes nothing.
 */
export type VerbKind = "take" | "charge" | "free" | "look";

/**
 * The transition of an algorithm that a verb makes: `units` are taken if they are free, given back
 * (`refund`), or taken in any case. A store that computes transitions itself, as Redis does by a
 * script, can run the verb. Other verbs that free units have no transition, because they need
 * notes.
 */
export type Transition = "take" | "giveBack" | "charge";

/**
 * A verb on one algorithm: two pure functions of a state. `now` is a whole number from 0 to 2^42.
 * They may be called again after a lost race.
 *
 * @typeParam Argument The argument of a call, such as its cost.
 * @typeParam Answer The answer to a call.
 */
export interface Steps<Argument, Answer> {
  /**
   * The state after the call: the same state (`===`) if nothing changes, `algorithm.initial` if no
   * use is left. A store passes `algorithm.initial` for a key that it does not hold.
   */
  next(state: unknown, now: number, argument: Argument): unknown;
  /**
   * The answer to the call, from the state before it and the state after it. It must not keep
   * a timeline, which may be a view of memory that the store reuses: `detachState` copies one.
   */
  answer(state: unknown, next: unknown, now: number, argument: Argument): Answer;
}

/**
 * A verb: what can be done to a key's state, whatever the algorithm and the store.
 *
 * @typeParam Argument The argument of a call, such as its cost.
 * @typeParam Answer The answer to a call.
 */
export interface Verb<Argument, Answer> {
  /** Its name, for errors and telemetry. */
  readonly name: string;
  /** Its effect: caches, queues and commits depend on that. */
  readonly kind: VerbKind;
  /**
   * Whether it names the thing that it renews or gives back, as verbs of permits do. On a store
   * that does not hold that thing, nothing happens, and the decision is not allowed.
   */
  readonly byId?: boolean | undefined;
  /** The units of a call, at least 0. */
  units(argument: Argument): number;
  /**
   * The verb on an algorithm.
   *
   * @throws {TypeError} If the algorithm has no such verb.
   */
  on(algorithm: Algorithm): Steps<Argument, Answer>;
  /** The decision in an answer. */
  decisionOf(answer: Answer): Decision;
  /**
   * The answer that contains a decision which did not come from `answer`: the decision of a failure
   * policy, or a decision that an outer store has changed.
   *
   * @param answer The answer that the decision was made of, if there is one.
   */
  answerOf(decision: Decision, answer?: Answer): Answer;
  /** The algorithm's own transition that this verb makes; `undefined` if it makes another one. */
  transition(algorithm: Algorithm): Transition | undefined;
  /**
   * For a verb on units that an earlier call took: the source that admitted that call, if it was
   * not the limiter's own store. A store made of stores then asks the store that holds the units.
   * Other verbs lack `sourceOf`.
   */
  sourceOf?(argument: Argument): DecisionSource | undefined;
  /**
   * The call that takes an admitted call back, to be made at most once. `undefined` if there is
   * nothing to take back, or nothing that is known to belong to this call. Verbs whose calls cannot be
   * told from others lack `undo`.
   *
   * @param answer The answer to the call; `undefined` if it was not answered, and may have been applied.
   */
  undo?(argument: Argument, answer: Answer | undefined): Inverse | undefined;
}

/** A call that takes another one back. */
export interface Inverse {
  /** The verb. Its types depend on the call that it takes back. */
  // deno-lint-ignore no-explicit-any
  readonly verb: Verb<any, any>;
  /** The verb's argument. */
  readonly argument: unknown;
}

/**
 * How changed options treat the earlier use of a key: `"keep"` carries it over unit by unit,
 * `"proportional"` as the same share of the new capacity, rounded up.
 */
export type ReplaceMode = "keep" | "proportional";

/** Options that newer options replaced, and how use under the older options is carried over. */
export interface OlderOptions {
  /** The algorithm with the older options. */
  readonly algorithm: Algorithm;
  /** How use is carried over. */
  readonly mode: ReplaceMode;
}

/** The definition of a family: the keys of one prefix and one algorithm. */
export interface FamilySpec {
  /** The beginning of its stored keys. */
  readonly prefix: string;
  /** The algorithm, whose id is part of its stored keys. */
  readonly algorithm: Algorithm;
  /**
   * Older options, the newest first. Before a call, a key that holds no state takes over from the
   * first older options under which it holds use. The state that it took over is written even if
   * the call is then refused. A look writes nothing.
   */
  readonly older: readonly OlderOptions[];
}

/** Whether a store answers at once, or by promises. */
export type StoreMode = "sync" | "async";

/** A value as a store of a mode answers it. */
export type Answered<Mode extends StoreMode, Value> = Mode extends "sync" ? Value : Promise<Value>;

/** The keys of one prefix and one algorithm in a store. */
export interface Family<Mode extends StoreMode = StoreMode> {
  /** The definition that it was opened with. */
  readonly spec: FamilySpec;
  /**
   * Binds a verb to the family's keys. Returns the same object each time.
   *
   * @throws {TypeError} If the algorithm has no such verb.
   */
  bind<Argument, Answer>(verb: Verb<Argument, Answer>): BoundVerb<Argument, Answer, Mode>;
  /** Forgets a key, under its older options too. */
  delete(key: string): Answered<Mode, void>;
  /** The name under which a key is stored or shown. */
  nameOf(key: string): string;
  /**
   * The notice of units that are given back to a key, from now on, in another thread or process.
   * Absent if a store cannot tell.
   */
  refundNotice?(key: string): RefundNotice;
  /**
   * Milliseconds that may lie between the renewal of a permit and the answer to its holder; default
   * 0. A holder relies on its permit for so many milliseconds less than the time to live.
   */
  readonly renewalLag?: number | undefined;
}

/**
 * The notice of refunds to a key. It calls `wake` if units were given back since the notice was
 * made, or when the store is closed: once, and never before the notice has returned. It returns a
 * function that cancels the call.
 */
export type RefundNotice = (wake: () => void) => () => void;

/** A verb bound to the keys of a family. */
export interface BoundVerb<Argument, Answer, Mode extends StoreMode = StoreMode> {
  /** The family on whose keys it runs. */
  readonly family: Family<Mode>;
  /** The verb. */
  readonly verb: Verb<Argument, Answer>;
  /** The verb on the family's algorithm. */
  readonly steps: Steps<Argument, Answer>;
  /**
   * Runs the verb on one key.
   *
   * @param key The limiter's key.
   * @param argument Checked by the caller.
   * @param now The instant, checked by the caller; `undefined` for the store's own time.
   */
  call(key: string, argument: Argument, now: number | undefined): Answered<Mode, Answer>;
}

/** One call of several: a bound verb, a key and what the call brings. */
export interface Operation {
  /**
   * The bound verb. Calls of different verbs stand in one list, so the list cannot know their
   * types.
   */
  // deno-lint-ignore no-explicit-any
  readonly bound: BoundVerb<any, any>;
  /** The limiter's key. */
  readonly key: string;
  /** The verb's argument. */
  readonly argument: unknown;
}

/** A key of a limiter, and its state. */
export type ListedKey = readonly [key: string, state: unknown];

/** The members of every store, whether it answers at once or by promises. */
export interface StoreBase<Mode extends StoreMode = StoreMode> {
  /**
   * Opens a family. Families of the same prefix and algorithm id share their keys.
   *
   * @throws {RangeError} If states of the algorithm cannot fit the store.
   */
  open(spec: FamilySpec): Family<Mode>;
  /**
   * Runs several operations, all or nothing at one instant: when one of them is refused, none is
   * applied, and the answers are those that `transact` gives.
   *
   * @param operations All bound by this store; no key of a family twice. Without any, the answer is
   * an empty list, at once or by a promise as all answers are.
   * @param now The instant for all of them; without it the store's own time.
   * @returns The answers, in order.
   * @throws {RangeError} If `now` or a cost is out of range; nothing has changed.
   */
  run(operations: readonly Operation[], now?: number): Answered<Mode, readonly unknown[]>;
  /** The most operations of one `run`; any number without it. */
  readonly maxOperations?: number | undefined;
  /**
   * The part of the store that holds a key, by the name under which the key is stored. One `run` is
   * on keys of one part, as in a cluster of Redis. Absent if any keys may stand in one `run`.
   */
  readonly slotOf?: ((name: string) => number) | undefined;
  /**
   * Lists the keys of a prefix and an algorithm that hold a state, some at a time. A key that is
   * written meanwhile may be missing, or come twice. Only `blocked` needs it.
   */
  list?(prefix: string, algorithm: Algorithm): AsyncIterable<readonly ListedKey[]>;
  /** Forgets all keys of a prefix, whatever their algorithms. Only a limiter's `resetPrefix` needs it. */
  deleteAll?(prefix: string): Answered<Mode, void>;
  /**
   * Calls `ended` once the store is closed, or at once if it is closed already; callers that wait
   * for a turn on the store then fail. Absent if a store cannot tell. Waiting callers then learn it
   * from their next call.
   */
  onClose?(ended: () => void): void;
  /** Releases the resources of the store. A closed store no longer answers. */
  close(): Answered<Mode, void>;
  /** Closes the store, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A store that answers at once: memory, shared memory. */
export type SyncStore = StoreBase<"sync">;

/** A store that answers by promises: Redis. */
export type AsyncStore = StoreBase<"async">;

/**
 * A store of either kind. Its one job is to replace a key's state by a pure function of it,
 * atomically.
 */
export type Store = SyncStore | AsyncStore;
