import type { Algorithm } from "../../core/algorithm.ts";
import { checkOptions, checkStore, errorMessage } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { ContentionError, StoreUnavailableError } from "../../core/errors.ts";
import type { AsyncStore, Operation, PreparedCall, Store, SyncStore } from "../../core/store.ts";
import { andFinally, andThen, orElse } from "./maybe_promise.ts";
import { preparedCall, storedKeyIn } from "./prepared_call.ts";
import { scaleAlgorithm } from "../../core/algorithms/scale_algorithm.ts";
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
  const first = store as SyncStore;
  const second = other as SyncStore;
  const shares = new WeakMap<Algorithm, Algorithm>();

  function sharedBy(algorithm: Algorithm): Algorithm {
    // A step of the caller's own, such as that of one who waits, goes around the share.
    if (algorithm.internals?.wraps !== undefined) {
      return algorithm.internals?.wraps.around(sharedBy(algorithm.internals?.wraps.inner));
    }
    const known = shares.get(algorithm);
    if (known !== undefined) return known;
    const made = scaleAlgorithm(algorithm, share);
    shares.set(algorithm, made);
    return made;
  }

  /** Asks the other store, about its share. */
  function askOther(operations: readonly Operation[], now?: number): readonly Decision[] {
    const shared = operations.map((operation) => ({
      ...operation,
      algorithm: sharedBy(operation.algorithm),
      // What was used under older options is known to the first store alone.
      replaces: undefined,
    }));
    return andThen(second.run(shared, now), (decisions) => decisions.map(markFallback));
  }

  /** The cost that is left for the first store when the other one has had what it is owed. */
  function givenBack(refund: Operation, now?: number): number {
    const holdsUse = orElse(
      () => andThen(askOther([{ ...refund, cost: 0 }], now), ([look]) => look!.resetAfter > 0),
      () => false,
    );
    return andThen(
      holdsUse,
      (holds) => holds ? andThen(askOther([refund], now), () => 0) : refund.cost,
    );
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    const ask = preparedCall(first, prefix, algorithm);

    function decide(key: string, cost: number, dry: boolean, now: number | undefined): Decision {
      return orElse(() => ask(key, cost, dry, now), (error) => {
        rethrowUnlessUndecided(error);
        const stored = storedKeyIn(first, prefix, algorithm.id, key);
        const operation: Operation = { key: stored, algorithm, cost, dry };
        return andThen(askOther([operation], now), ([decision]) => decision!);
      });
    }

    return function decideOne(key, cost, dry, now) {
      if (cost >= 0 || dry) return decide(key, cost, dry, now);
      const stored = storedKeyIn(first, prefix, algorithm.id, key);
      const left = givenBack({ key: stored, algorithm, cost, dry }, now);
      return andThen(left, (cost) => decide(key, cost, dry, now));
    };
  }

  function decideAll(operations: readonly Operation[], now?: number): readonly Decision[] {
    return orElse(() => first.run(operations, now), (error) => {
      rethrowUnlessUndecided(error);
      return askOther(operations, now);
    });
  }

  function run(operations: readonly Operation[], now?: number): readonly Decision[] {
    const [only] = operations;
    if (operations.length > 1 || only!.cost >= 0 || only!.dry) return decideAll(operations, now);
    return andThen(givenBack(only!, now), (cost) => decideAll([{ ...only!, cost }], now));
  }

  function forget(key: string): void {
    return andThen(second.delete(key), () => first.delete(key));
  }

  function accepts(algorithm: Algorithm): void {
    if (sharedBy(algorithm).capacity < 1) {
      const rule = `its capacity times the share of ${share} must be at least 1`;
      throw new RangeError(
        errorMessage("fall back to a share of a limit", rule, algorithm.capacity),
      );
    }
    first.accepts(algorithm);
    second.accepts(sharedBy(algorithm));
  }

  function close(): void {
    return andFinally(() => andThen(first.close(), () => second.close()), () => {});
  }

  return wrapStore(first, {
    run,
    internals: { prepare },
    accepts,
    delete: forget,
    close,
    [Symbol.asyncDispose]: async () => await close(),
  });
}

function readShare(options: FallbackOptions): number {
  checkOptions(ACTION, options);
  const { share } = options;
  const rule = "share must be more than 0 and at most 1";
  if (typeof share !== "number") throw new TypeError(errorMessage(ACTION, rule, share));
  if (!(share > 0 && share <= 1)) throw new RangeError(errorMessage(ACTION, rule, share));
  return share;
}

/** Throws every error but those of a store that could not decide. */
function rethrowUnlessUndecided(error: unknown): void {
  if (error instanceof StoreUnavailableError || error instanceof ContentionError) return;
  throw error;
}

/** A decision that says who made it. */
function markFallback(decision: Decision): Decision {
  const { allowed, limit, remaining, retryAfter, nextAfter, resetAfter, delay, parts } = decision;
  return makeDecision(
    allowed,
    limit,
    remaining,
    retryAfter,
    nextAfter,
    resetAfter,
    delay,
    "fallback",
    parts?.map(markFallback),
  );
}
