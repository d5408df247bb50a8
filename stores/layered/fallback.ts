/*
 * A second store that decides when the first cannot. It admits a share of each limit. A refund goes
 * first to the second store, if that has lent units.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { scaleAlgorithm } from "../../core/algorithms/scale_algorithm.ts";
import { checkOptions, checkStore, rangeError, typeError } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { ContentionError, StoreUnavailableError } from "../../core/errors.ts";
import { andThen, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import { rebindTo } from "../../core/rebind.ts";
import type {
  AsyncStore,
  FamilySpec,
  Operation,
  Store,
  StoreBase,
  SyncStore,
  Verb,
} from "../../core/store.ts";
import { unblock } from "../../core/verbs/block.ts";
import { peek } from "../../core/verbs/peek.ts";
import { type AnyCall, wrapStore } from "../../core/wrap_store.ts";

type AnyBound = Operation["bound"];
type Answers = MaybePromise<readonly unknown[]>;

/** The options of `fallback`. */
export interface FallbackOptions {
  /**
   * The share of each limit that the other store admits: more than 0, at most 1. With n servers
   * that each fall back to a store of their own, 1 / n.
   */
  readonly share: number;
}

const ACTION = "create fallback";

/**
 * A store that asks another store when the first cannot decide, because it throws a
 * `StoreUnavailableError` or a `ContentionError`. The other store, usually a memory store, admits a
 * share of the limit. Its decisions have the `source` `"fallback"` and the numbers of the share. They
 * do not count earlier use.
 *
 * Every call asks the first store. A store with a circuit breaker, such as `redisStore`, answers at
 * once while it is away. A call with an unknown outcome is decided by the other store, too, so it may
 * be charged in both. A reset that the first store cannot do is an error.
 *
 * A permit from the other store is renewed and released there, even once the first store is back.
 *
 * Units are given back to the other store as long as it holds use of the key, otherwise to the
 * first. So units that were taken while the first store was away, and come back once it has
 * returned, free nothing that others have taken from the first; the answer then has the first
 * store's balance.
 *
 * A cost c counts as c / share there, rounded up. So the limiter's capacity times the share must be
 * at least 1, and an `acquire` of more than the share can hold is refused.
 *
 * @param store The store to ask first, of any kind. It must throw when it is away.
 * @param other The store to ask then. If the first store answers at once, this one must do so too.
 * It must hold nothing else.
 * @param options `share`, as above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If the share is out of range.
 *
 * @example Four servers, and Redis is away
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { redisStore } from "tidegate/redis";
 * import { fallback } from "tidegate/stores";
 * import { createClient } from "redis";
 * import assert from "node:assert/strict";
 *
 * const redis = redisStore(createClient({ url: "redis://127.0.0.1:1" })); // nobody is there
 * const store = fallback(redis, memoryStore(), { share: 1 / 4 });
 * const api = limiter(gcra({ limit: 100, period: "1m", burst: 100 }), { store, prefix: "api" });
 *
 * const decision = await api.consume("user:42");
 * assert.equal(decision.source, "fallback");
 * assert.equal(decision.remaining, 24);
 * await store.close();
 * ```
 */
export function fallback(
  store: SyncStore,
  other: SyncStore,
  options: FallbackOptions,
): SyncStore;
/** The same for a store that answers by promises. */
export function fallback(store: AsyncStore, other: Store, options: FallbackOptions): AsyncStore;
export function fallback(store: Store, other: Store, options: FallbackOptions): Store {
  checkStore(ACTION, "its store", store);
  checkStore(ACTION, "the other store", other);
  const share = readShare(options);
  const scale = scaledBy(share);

  function scaledSpec({ prefix, algorithm }: FamilySpec): FamilySpec {
    // Only the first store knows the use under older options.
    return { prefix, algorithm: scale(algorithm), older: [] };
  }

  const onOther = rebindTo(other, scaledSpec);

  function runTogether(operations: readonly Operation[], now: number | undefined): Answers {
    return orElse<readonly unknown[]>(() => store.run(operations, now), (error) => {
      rethrowUnlessUndecided(error);
      const others = onOther.operations(operations);
      return andThen(
        other.run(others, now) as Answers,
        (all) => all.map((answer, index) => markAnswer(operations[index]!.bound.verb, answer)),
      );
    });
  }

  /** Gives units back, each to the store that holds use of them: a refund is never refused. */
  function giveBackTogether(operations: readonly Operation[], now: number | undefined): Answers {
    const looks = onOther.operations(operations).map(asLook);
    const seen = orElse<readonly unknown[]>(() => other.run(looks, now) as Answers, () => []);
    return andThen(seen, (decisions) => {
      const lent = operations.filter((_, index) => holdsUse(decisions[index]));
      if (lent.length === 0) return runTogether(operations, now);
      const returned = other.run(onOther.operations(lent), now) as Answers;
      const rest = operations.map((operation, index) =>
        holdsUse(decisions[index]) ? asLook(operation) : operation
      );
      return andThen(
        returned,
        () =>
          andThen(
            runTogether(rest, now),
            (answers) =>
              answers.map((answer, index) =>
                rest[index] === operations[index]
                  ? answer
                  : operations[index]!.bound.verb.answerOf(answer as Decision)
              ),
          ),
      );
    });
  }

  return wrapStore(store, {
    open(spec) {
      const { algorithm: { capacity } } = scaledSpec(spec);
      if (capacity < 1 && spec.algorithm.capacity > 0) {
        const rule = `its capacity times the share of ${share} must be at least 1`;
        throw rangeError("fall back to a share of a limit", rule, spec.algorithm.capacity);
      }
      const family = (store as StoreBase).open(spec);
      onOther.family(family);
      return family;
    },
    call: (inner) => fallbackCall(inner, onOther.bound(inner)),
    run: (operations, now) =>
      operations.every(({ bound: { verb } }) => verb.kind === "free")
        ? giveBackTogether(operations, now)
        : runTogether(operations, now),
    delete: (family, key) =>
      andThen<void, void>(onOther.family(family).delete(key), () => family.delete(key)),
    deleteAll: store.deleteAll && other.deleteAll &&
      ((prefix) => andThen<void, void>(other.deleteAll!(prefix), () => store.deleteAll!(prefix))),
    close: () => andThen<void, void>(store.close(), () => other.close()),
    outlivesInner: true,
  });
}

/** The share of an algorithm. It is made once for each algorithm. */
function scaledBy(share: number): (algorithm: Algorithm) => Algorithm {
  const shares = new WeakMap<Algorithm, Algorithm>();
  return function scale(algorithm): Algorithm {
    const known = shares.get(algorithm);
    if (known !== undefined) return known;
    const made = scaleAlgorithm(algorithm, share);
    shares.set(algorithm, made);
    return made;
  };
}

/** A single call, on the other store if the first cannot decide. */
function fallbackCall(first: AnyBound, other: AnyBound): AnyCall {
  const { verb } = first;
  const { call }: { readonly call: AnyCall } = other;
  const onOther: AnyCall = (key, argument, now) =>
    andThen(call(key, argument, now), (answer) => markAnswer(verb, answer));
  const decide: AnyCall = (key, argument, now) =>
    orElse<unknown>(() => first.call(key, argument, now), (error) => {
      rethrowUnlessUndecided(error);
      return onOther(key, argument, now);
    });
  if ((verb as unknown) === unblock) {
    return (key, argument, now) =>
      andThen(onOther(key, argument, now), () => decide(key, argument, now));
  }
  const { sourceOf } = verb;
  if (sourceOf !== undefined) {
    // Only the store that took units can tell whether they still count.
    return (key, argument, now) =>
      (sourceOf(argument) === "fallback" ? onOther : first.call)(key, argument, now);
  }
  if (verb.kind === "free") return freeing(first, other, onOther, decide);
  if (verb.byId !== true) return decide;
  // The first store does not hold the permits of the other.
  return (key, argument, now) =>
    andThen(decide(key, argument, now), (answer) => {
      const { allowed, source } = verb.decisionOf(answer);
      return allowed || source !== undefined ? answer : onOther(key, argument, now);
    });
}

/**
 * Gives units back to the other store if that has lent any, and then only looks at the first.
 */
function freeing(first: AnyBound, other: AnyBound, onOther: AnyCall, decide: AnyCall): AnyCall {
  const { verb } = first;
  const lookAtOther = other.family.bind(peek).call as AnyCall;
  const look = fallbackCall(first.family.bind(peek), other.family.bind(peek));
  return function giveBack(key, argument, now) {
    const lent = orElse<boolean>(
      () => andThen<unknown, boolean>(lookAtOther(key, 0, now), holdsUse),
      () => false,
    );
    return andThen(lent, (isLent) => {
      if (!isLent) return decide(key, argument, now);
      return andThen(onOther(key, argument, now), (answer) => {
        // The other store holds permits of the key, but not this one.
        const isElsewhere = verb.byId && !verb.decisionOf(answer).allowed;
        if (isElsewhere) return decide(key, argument, now);
        return andThen(look(key, 0, now), (decision: Decision) => verb.answerOf(decision));
      });
    });
  };
}

/** The same operation as a look at its key. */
function asLook({ bound: { family }, key }: Operation): Operation {
  return { bound: family.bind(peek), key, argument: 0 };
}

/** Whether a look has seen use. */
function holdsUse(look: unknown): boolean {
  return look !== undefined && (look as Decision).resetAfter > 0;
}

/** An answer that names the fallback as its source. */
function markAnswer<Answer>(verb: Verb<never, Answer>, answer: Answer): Answer {
  return verb.answerOf(markFallback(verb.decisionOf(answer)), answer);
}

function readShare(options: FallbackOptions): number {
  checkOptions<FallbackOptions>(ACTION, options, { share: true });
  const { share } = options;
  const rule = "share must be more than 0 and at most 1";
  if (typeof share !== "number") throw typeError(ACTION, rule, share);
  if (!(share > 0 && share <= 1)) throw rangeError(ACTION, rule, share);
  return share;
}

/** Throws every error except those of a store that could not decide. */
function rethrowUnlessUndecided(error: unknown): void {
  if (error instanceof StoreUnavailableError || error instanceof ContentionError) return;
  throw error;
}

/** A decision that names the fallback as its source. */
function markFallback(decision: Decision): Decision {
  return { ...decision, source: "fallback", parts: decision.parts?.map(markFallback) };
}
