/*
 * Another store for when the first one cannot decide. The other one admits a share of each limit,
 * and is owed the units that it lent: those are given back to it first.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { scaleAlgorithm } from "../../core/algorithms/scale_algorithm.ts";
import { checkOptions, checkStore, rangeError, typeError } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { ContentionError, StoreUnavailableError } from "../../core/errors.ts";
import { prepareCall } from "../../core/limiter/prepare_call.ts";
import { andThen, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import type { AsyncStore, Operation, PreparedCall, Store, SyncStore } from "../../core/store.ts";
import { wrapStore } from "./wrap_store.ts";

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
 * A store that asks another one when the first cannot decide: when that throws a
 * `StoreUnavailableError`, or a `ContentionError`, as nothing was charged then. The other one, a
 * memory store as a rule, admits a share of the limit, and says so: its decisions have the `source`
 * `"fallback"`, the numbers of the share, and know nothing of what was used before.
 *
 * The first store is asked each time; one with a circuit breaker, such as `redisStore`, answers at
 * once while it is away. A call whose fate is unknown is decided by the other store too, so it may
 * be charged in both. A reset that the first cannot do is an error.
 *
 * Units are given back to the other store as long as that holds use of the key, and otherwise to the
 * first. So what was taken while the first was away, and is given back when it is there again, frees
 * nothing that others have taken from it; it answers with its balance then.
 *
 * A cost c counts as c / share there, rounded up. So the limiter's capacity times the share must be
 * at least 1, and an `acquire` of more than the share can hold is refused.
 *
 * @param store The store to ask first, of any kind. It must throw when it is away.
 * @param other The store to ask then; on one that answers at once it must do so too. It must hold
 * nothing else.
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
 * const api = limiter(gcra({ limit: 100, period: "1m" }), { store, prefix: "api" });
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
/** The same on a store that answers by promises. */
export function fallback(store: AsyncStore, other: Store, options: FallbackOptions): AsyncStore;
export function fallback(store: Store, other: Store, options: FallbackOptions): Store {
  checkStore(ACTION, "its store", store);
  checkStore(ACTION, "the other store", other);
  const share = readShare(options);
  const stores: FallbackStores = { first: store, second: other, scale: scaledBy(share) };

  function accepts(algorithm: Algorithm): void {
    const scaled = stores.scale(algorithm);
    if (scaled.capacity < 1) {
      const rule = `its capacity times the share of ${share} must be at least 1`;
      throw rangeError("fall back to a share of a limit", rule, algorithm.capacity);
    }
    store.accepts(algorithm);
    other.accepts(scaled);
  }

  const close = () => andThen<void, void>(store.close(), () => other.close());
  return wrapStore(store, {
    run: (operations, now) => run(stores, operations, now),
    internals: { prepare: (prefix, algorithm) => fallbackCall(stores, prefix, algorithm) },
    accepts,
    delete: (key) => andThen<void, void>(other.delete(key), () => store.delete(key)),
    deleteAll: store.deleteAll && other.deleteAll &&
      ((prefix) => andThen<void, void>(other.deleteAll!(prefix), () => store.deleteAll!(prefix))),
    close,
    [Symbol.asyncDispose]: async () => await close(),
  }, () => {});
}

/** The store that is asked first, the other one, and what that makes of a limit. */
interface FallbackStores {
  readonly first: Store;
  readonly second: Store;
  scale(algorithm: Algorithm): Algorithm;
}

type Decisions = MaybePromise<readonly Decision[]>;

/** The share of an algorithm, made once for each. */
function scaledBy(share: number): (algorithm: Algorithm) => Algorithm {
  const shares = new WeakMap<Algorithm, Algorithm>();
  return function scale(algorithm): Algorithm {
    // A step of the caller's own, such as that of one who waits, goes around the share.
    const wraps = algorithm.internals?.wraps;
    if (wraps !== undefined) return wraps.around(scale(wraps.inner));
    const known = shares.get(algorithm);
    if (known !== undefined) return known;
    const made = scaleAlgorithm(algorithm, share);
    shares.set(algorithm, made);
    return made;
  };
}

/** A single call. */
function fallbackCall(
  stores: FallbackStores,
  prefix: string,
  algorithm: Algorithm,
): PreparedCall<MaybePromise<Decision>> {
  const { decide, operation } = prepareCall(stores.first, prefix, algorithm);
  return function decideOne(key, cost, dry, now) {
    const only = (decisions: Decisions) => andThen(decisions, ([decision]) => decision!);
    const operations = () => [{ ...operation(key, cost), dry }];
    if (cost < 0 && !dry) return only(run(stores, operations(), now));
    return orElse<Decision>(() => decide(key, cost, dry, now), (error) => {
      rethrowUnlessUndecided(error);
      return only(runOther(stores, operations(), now));
    });
  };
}

/** Runs operations; units are given back to the other store first. */
function run(stores: FallbackStores, operations: readonly Operation[], now?: number): Decisions {
  const [only] = operations;
  if (operations.length > 1 || only!.cost >= 0 || only!.dry) return runAll(stores, operations, now);
  const left = refundOther(stores, only!, now);
  return andThen(left, (cost) => runAll(stores, [{ ...only!, cost }], now));
}

function runAll(stores: FallbackStores, operations: readonly Operation[], now?: number): Decisions {
  return orElse<readonly Decision[]>(() => stores.first.run(operations, now), (error) => {
    rethrowUnlessUndecided(error);
    return runOther(stores, operations, now);
  });
}

/** Runs operations on the other store, for its share of their limits. */
function runOther(
  { second, scale }: FallbackStores,
  operations: readonly Operation[],
  now?: number,
): Decisions {
  const scaled = operations.map((operation) => ({
    ...operation,
    algorithm: scale(operation.algorithm),
    // What was used under older options is known to the first store alone.
    replaces: undefined,
  }));
  const decisions: Decisions = second.run(scaled, now);
  return andThen(decisions, (decisions) => decisions.map(markFallback));
}

/** Gives back to the other store what it lent; the cost that is left for the first one. */
function refundOther(
  stores: FallbackStores,
  refund: Operation,
  now?: number,
): MaybePromise<number> {
  const holdsUse = orElse<boolean>(
    () =>
      andThen(runOther(stores, [{ ...refund, cost: 0 }], now), ([look]) => look!.resetAfter > 0),
    () => false,
  );
  return andThen(
    holdsUse,
    (holds) => holds ? andThen(runOther(stores, [refund], now), () => 0) : refund.cost,
  );
}

function readShare(options: FallbackOptions): number {
  checkOptions<FallbackOptions>(ACTION, options, { share: true });
  const { share } = options;
  const rule = "share must be more than 0 and at most 1";
  if (typeof share !== "number") throw typeError(ACTION, rule, share);
  if (!(share > 0 && share <= 1)) throw rangeError(ACTION, rule, share);
  return share;
}

/** Throws every error but those of a store that could not decide. */
function rethrowUnlessUndecided(error: unknown): void {
  if (error instanceof StoreUnavailableError || error instanceof ContentionError) return;
  throw error;
}

/** A decision that says who made it. */
function markFallback(decision: Decision): Decision {
  return { ...decision, source: "fallback", parts: decision.parts?.map(markFallback) };
}
