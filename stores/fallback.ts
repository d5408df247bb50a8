import type { Algorithm } from "../core/algorithm.ts";
import { checkOptions, complaint } from "../core/check.ts";
import type { Decision } from "../core/decision.ts";
import { decisionOf } from "../core/decision_of.ts";
import { StoreUnavailableError } from "../core/errors.ts";
import type { AsyncStore, Lane, Operation, Store, SyncStore } from "../core/store.ts";
import { after, ended, recovered } from "./answers.ts";
import { keyIn, laneOf } from "./lane_of.ts";
import { shareOf } from "./share_of.ts";
import { wrapped } from "./wrapped.ts";

/** The options of `fallback`. */
export interface FallbackOptions {
  /**
   * The share of each limit that the other store admits: more than 0, at most 1. With n servers
   * that each fall back to a store of their own, 1 / n.
   */
  readonly share: number;
}

/**
 * A store that asks another one when the first cannot be reached: when that throws a
 * `StoreUnavailableError`. The other one, a memory store as a rule, admits a share of the limit, and
 * says so: its decisions have the `source` `"fallback"`, the numbers of the share, and know nothing
 * of what was used before.
 *
 * The first store is asked each time; one with a circuit breaker, such as `redisStore`, answers at
 * once while it is away. A call whose fate is unknown is decided by the other store too, so it may
 * be charged in both. Units given back while the first is away are given back to the other. A reset
 * that the first cannot do is an error.
 *
 * A cost c counts as c / share there, rounded up. So the limiter's capacity times the share must be
 * at least 1.
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
  const share = readShare(options);
  const first = store as SyncStore;
  const second = other as SyncStore;
  const shares = new WeakMap<Algorithm, Algorithm>();

  function sharedBy(algorithm: Algorithm): Algorithm {
    const known = shares.get(algorithm);
    if (known !== undefined) return known;
    const made = shareOf(algorithm, share);
    shares.set(algorithm, made);
    return made;
  }

  function lane(prefix: string, algorithm: Algorithm): Lane<Decision> {
    const ask = laneOf(first, prefix, algorithm);
    const shared = sharedBy(algorithm);
    return (key, cost, dry, now) =>
      recovered(() => ask(key, cost, dry, now), (error) => {
        requireUnavailable(error);
        const stored = keyIn(first, prefix, algorithm.id, key);
        const operation: Operation = { key: stored, algorithm: shared, cost, dry };
        return after(second.run([operation], now), ([decision]) => marked(decision!));
      });
  }

  function run(operations: readonly Operation[], now?: number): readonly Decision[] {
    return recovered(() => first.run(operations, now), (error) => {
      requireUnavailable(error);
      const shared = operations.map((operation) => ({
        ...operation,
        algorithm: sharedBy(operation.algorithm),
        // What was used under older options is known to the first store alone.
        replaces: undefined,
      }));
      return after(second.run(shared, now), (decisions) => decisions.map(marked));
    });
  }

  function forget(key: string): void {
    return after(second.delete(key), () => first.delete(key));
  }

  function accepts(algorithm: Algorithm): void {
    if (Math.floor(algorithm.capacity * share) < 1) {
      const rule = `its capacity times the share of ${share} must be at least 1`;
      throw new RangeError(complaint("fall back to a share of a limit", rule, algorithm.capacity));
    }
    first.accepts(algorithm);
    second.accepts(sharedBy(algorithm));
  }

  function close(): void {
    return ended(() => after(first.close(), () => second.close()), () => {});
  }

  return wrapped(first, {
    run,
    lane,
    accepts,
    delete: forget,
    close,
    [Symbol.asyncDispose]: async () => await close(),
  });
}

function readShare(options: FallbackOptions): number {
  const action = "create fallback";
  checkOptions(action, options);
  const { share } = options;
  const rule = "share must be more than 0 and at most 1";
  if (typeof share !== "number") throw new TypeError(complaint(action, rule, share));
  if (!(share > 0 && share <= 1)) throw new RangeError(complaint(action, rule, share));
  return share;
}

function requireUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) throw error;
}

/** A decision that says who made it. */
function marked(decision: Decision): Decision {
  const { allowed, limit, remaining, retryAfter, nextAfter, resetAfter, delay, parts } = decision;
  return decisionOf(
    allowed,
    limit,
    remaining,
    retryAfter,
    nextAfter,
    resetAfter,
    delay,
    "fallback",
    parts?.map(marked),
  );
}
