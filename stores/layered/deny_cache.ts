import type { Algorithm } from "../../core/algorithm.ts";
import { checkInteger, checkOptions, checkStore } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import type { AsyncStore, Operation, PreparedCall, Store, SyncStore } from "../../core/store.ts";
import { ageDecision } from "./age_decision.ts";
import { andFinally, andThen } from "./maybe_promise.ts";
import { keyedCache } from "./keyed_cache.ts";
import { preparedCall, storedKeyIn } from "./prepared_call.ts";
import { LONGEST_KEY } from "../../core/options/longest_key.ts";
import { wrapStore } from "./wrap_store.ts";

/** The options of `denyCache`. */
export interface DenyCacheOptions {
  /** The most keys whose refusals are remembered; a positive integer; default 10,000. */
  readonly maxKeys?: number | undefined;
}

/** A refusal, and when it was asked for. */
interface Refusal {
  readonly decision: Decision;
  readonly cost: number;
  /** By the caller's clock if there is one, otherwise by `performance.now`. */
  readonly at: number;
  readonly ownTime: boolean;
  /** Whether the store answers by promises. */
  readonly promised: boolean;
}

/**
 * How many counters tell that a key was given units back. Keys share them; where two do, a refusal
 * may not be remembered that could be.
 */
const COUNTERS = 1_024;

/**
 * A store that remembers refusals. A refused call is answered here, without asking the store again,
 * until the first millisecond at which its cost could be admitted; so is one of the same key that
 * costs more. Whoever hammers a limit costs nothing more than a look into a map.
 *
 * It never admits what the store would refuse. It may refuse, until that millisecond, what the
 * store would admit, after units were given back or the key was reset by another process; what is
 * given back or reset here is known at once. An answer of its own tells the balance of the first
 * refusal, and its `retryAfter` to the millisecond; for a larger cost than that one, the earliest
 * that it could be. Calls on several keys at once, and those of `acquire`, always ask the store.
 *
 * Constant time; at most `maxKeys` refusals are held, some 300 bytes and the text of the key each.
 * Calls on keys of more than 1,024 characters always ask the store.
 *
 * @param store The store to ask, of any kind.
 * @param options As above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { denyCache } from "tidegate/stores";
 * import assert from "node:assert/strict";
 *
 * const store = denyCache(memoryStore());
 * const api = limiter(gcra({ limit: 1, period: "1h" }), { store, prefix: "api" });
 * api.consume("user:42");
 * assert.equal(api.consume("user:42").allowed, false); // by the store
 * assert.equal(api.consume("user:42").allowed, false); // from memory
 * api.refund("user:42");
 * assert.equal(api.consume("user:42").allowed, true);
 * ```
 */
export function denyCache(store: SyncStore, options?: DenyCacheOptions): SyncStore;
/** The same on a store that answers by promises. */
export function denyCache(store: AsyncStore, options?: DenyCacheOptions): AsyncStore;
/** The same on a store of either kind. */
export function denyCache(store: Store, options?: DenyCacheOptions): Store;
export function denyCache(store: Store, options: DenyCacheOptions = {}): Store {
  checkStore("create denyCache", "its store", store);
  checkOptions("create denyCache", options);
  const { maxKeys = 10_000 } = options;
  checkInteger("create denyCache", "maxKeys", maxKeys, 1);
  const inner = store as SyncStore;
  const refusals = keyedCache<Refusal>(inner, maxKeys);
  const givenBack = new Uint32Array(COUNTERS);

  /** Does what may free units of keys, and forgets their refusals: those under way as well. */
  function freeing<Value>(keys: readonly string[], call: () => Value): Value {
    function forget(): void {
      for (const key of keys) {
        givenBack[counterOf(key)]!++;
        refusals.delete(key);
      }
    }
    forget();
    return andFinally(call, forget);
  }

  /** What a refusal says of a call, if it still holds. */
  function answerOf(
    { decision, cost: least, at, ownTime, promised }: Refusal,
    cost: number,
    now: number | undefined,
  ): Decision | undefined {
    if (cost < least || ownTime !== (now === undefined)) return undefined;
    const passed = (now ?? performance.now()) - at;
    // The store counts in whole milliseconds, and may have rounded its instant down.
    if (passed >= decision.retryAfter - (ownTime ? 1 : 0)) return undefined;
    const answer = ageDecision(decision, passed);
    return promised ? Promise.resolve(answer) as unknown as Decision : answer;
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    const ask = preparedCall(inner, prefix, algorithm);
    const refused = refusals.of(prefix, algorithm.id);
    return function decideOne(key, cost, dry, now) {
      const refusal = refused.get(key);
      if (refusal !== undefined && cost > 0 && cost <= algorithm.capacity) {
        const answer = answerOf(refusal, cost, now);
        if (answer !== undefined) return answer;
      }
      if (key.length > LONGEST_KEY) return ask(key, cost, dry, now);
      const stored = storedKeyIn(inner, prefix, algorithm.id, key);
      if (cost < 0) return freeing([stored], () => ask(key, cost, dry, now));
      const counter = counterOf(stored);
      const before = givenBack[counter];
      const at = now ?? performance.now();
      const answer = ask(key, cost, dry, now);
      const promised = answer instanceof Promise;
      return andThen(answer, (decision) => {
        // What an earlier refusal told of the balance is no longer so.
        if (decision.allowed && !dry && cost > 0) refusals.delete(stored);
        else if (isWorthKeeping(decision) && givenBack[counter] === before) {
          refused.set(key, { decision, cost, at, ownTime: now === undefined, promised });
        }
        return decision;
      });
    };
  }

  function run(operations: readonly Operation[], now?: number): readonly Decision[] {
    const freed = operations.filter(({ cost }) => cost < 0).map(({ key }) => key);
    const call = () => inner.run(operations, now);
    return freed.length === 0 ? call() : freeing(freed, call);
  }

  return wrapStore(inner, {
    run,
    internals: { prepare },
    delete: (key) => freeing([key], () => inner.delete(key)),
  });
}

/** Whether a decision is a refusal by the store itself, and for a time. */
function isWorthKeeping({ allowed, retryAfter, source }: Decision): boolean {
  return !allowed && retryAfter < Infinity && source === undefined;
}

/** Which counter a key has: FNV-1a of its characters. */
function counterOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < key.length; place++) {
    hash = Math.imul(hash ^ key.charCodeAt(place), 0x01000193);
  }
  return (hash >>> 0) % COUNTERS;
}
