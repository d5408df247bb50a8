/*
 * A cache of refusals in front of a store. A refusal names the instant until which it holds, so calls
 * before that instant need not reach the store. The cache also counts refunds and resets, which end a
 * refusal early.
 */

import { holdsPermits } from "../../core/algorithms/holds_permits.ts";
import { fnv1a } from "../fnv1a.ts";
import { checkInteger, checkOptions, checkStore } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { andThen, isPromise, type MaybePromise } from "../../core/maybe_promise.ts";
import { LONGEST_KEY } from "../../core/options/longest_key.ts";
import type { BoundVerb, FamilySpec, Operation, Store } from "../../core/store.ts";
import { consume } from "../../core/verbs/consume.ts";
import { peek } from "../../core/verbs/peek.ts";
import { type AnyCall, wrapStore } from "../../core/wrap_store.ts";
import { ageDecision } from "./age_decision.ts";
import { forgetAround, type KeyedCache, keyedCache } from "./keyed_cache.ts";
import { agingTime } from "../aging_time.ts";

/** The options of `denyCache`. */
export interface DenyCacheOptions {
  /** The most keys whose refusals are remembered; a positive integer; default 10,000. */
  readonly maxKeys?: number | undefined;
}

/** A refusal, and the instant of its call. */
interface Refusal {
  readonly decision: Decision;
  readonly cost: number;
  /** The instant, by the caller's clock if there is one, otherwise by the process's time. */
  readonly at: number;
  readonly ownTime: boolean;
  /** Whether the store answers by promises. */
  readonly promised: boolean;
}

/** The contents of a deny cache. */
interface DenyCache {
  readonly refusals: KeyedCache<Refusal>;
  /**
   * Counters of refunds and resets. Several keys share one: a refund of one of them may then keep a
   * refusal of another from being remembered.
   */
  readonly freed: Uint32Array;
}

/** A key of a family. */
interface SpecKey {
  readonly spec: FamilySpec;
  readonly key: string;
}

type UnitsVerb = BoundVerb<number, Decision>;
type AnyBound = Operation["bound"];

/** The number of counters; a power of two. */
const COUNTERS = 1_024;

/**
 * A store that remembers refusals. Until the first millisecond at which the cost of a refused call
 * could be admitted, it answers the same call without asking the store again, and so it does for calls
 * on the same key that cost more. A client that hammers a limit then costs one look into a map for
 * each call.
 *
 * It never admits a call that the store would refuse. If another process gives units back or resets
 * the key, it may refuse a call, until that millisecond, that the store would admit. Refunds and
 * resets here take effect at once. Its own answers have the balance of the first refusal. Their
 * `retryAfter` is exact to the millisecond; for a larger cost than the refused one it is the earliest
 * possible. Calls on several keys at once, and calls of `acquire`, always ask the store.
 *
 * Takes constant time, and holds at most `maxKeys` refusals, of some 300 bytes and the text of the key
 * each. Calls on keys of more than 1,024 characters always ask the store.
 *
 * @param store The store to ask, of any kind.
 * @param options As above.
 * @returns A store with all other members of the inner store, such as `statistics`.
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
 * const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), { store, prefix: "api" });
 * api.consume("user:42");
 * assert.equal(api.consume("user:42").allowed, false); // by the store
 * assert.equal(api.consume("user:42").allowed, false); // from memory
 * api.refund("user:42");
 * assert.equal(api.consume("user:42").allowed, true);
 * ```
 */
export function denyCache<OfStore extends Store>(
  store: OfStore,
  options?: DenyCacheOptions,
): OfStore;
export function denyCache(store: Store, options: DenyCacheOptions = {}): Store {
  checkStore("create denyCache", "its store", store);
  checkOptions<DenyCacheOptions>("create denyCache", options, { maxKeys: true });
  const { maxKeys = 10_000 } = options;
  checkInteger("create denyCache", "maxKeys", maxKeys, 1);
  const cache: DenyCache = {
    refusals: keyedCache(maxKeys),
    freed: new Uint32Array(COUNTERS),
  };

  function forgetAll(): void {
    cache.refusals.clear();
    cache.freed.forEach((count, counter) => cache.freed[counter] = count + 1);
  }

  return wrapStore(store, {
    call: (inner) => isCached(inner) ? cachedCall(cache, inner) : freeingCall(cache, inner),
    run(operations, now) {
      // A refund ends a refusal, and a charge makes it longer.
      const changing = operations.filter(({ bound: { verb }, argument }) =>
        verb.kind !== "look" && verb.units(argument) !== 0
      );
      const keys = changing.map(({ bound: { family: { spec } }, key }) => ({ spec, key }));
      return freeKeys(cache, keys, () => store.run(operations, now));
    },
    delete: ({ spec, delete: forget }, key) =>
      freeKeys<void>(cache, [{ spec, key }], () => forget(key)),
    deleteAll: store.deleteAll &&
      ((prefix) => forgetAround<void>(forgetAll, () => store.deleteAll!(prefix))),
  });
}

/**
 * Whether a verb's refusals are remembered: the refusals of `consume` and `peek`, but not for permits,
 * because a permit may be released long before the instant that a refusal names.
 */
function isCached({ verb, family: { spec } }: AnyBound): boolean {
  const own: unknown = verb;
  return (own === consume || own === peek) && !holdsPermits(spec.algorithm);
}

/** The inner call of a verb that may make a refusal wrong. */
function freeingCall(cache: DenyCache, { family: { spec }, verb, call }: AnyBound): AnyCall {
  if (verb.kind === "look") return call;
  return (key, argument, now) => freeKeys(cache, [{ spec, key }], () => call(key, argument, now));
}

/** The inner call of `consume` or `peek`, unless a known refusal still holds. */
function cachedCall(cache: DenyCache, { family, verb, call }: UnitsVerb): AnyCall {
  const { refusals, freed } = cache;
  const { spec } = family;
  const { capacity } = spec.algorithm;
  const refused = refusals.of(family);
  const takes = verb.kind === "take";
  // A look does not carry use over from older options, so the next call may have less to carry
  // over.
  const lasts = takes || spec.older.length === 0;

  return function decideOne(key: string, cost: number, now): MaybePromise<Decision> {
    const refusal = refused.get(key);
    if (refusal !== undefined && cost > 0 && cost <= capacity) {
      const answer = answerOf(refusal, cost, now);
      if (answer !== undefined) return answer;
    }
    if (key.length > LONGEST_KEY) return call(key, cost, now);
    const counter = counterOf(key);
    const before = freed[counter];
    const at = now ?? agingTime();
    const answer: MaybePromise<Decision> = call(key, cost, now);
    const promised = isPromise(answer);
    return andThen(answer, (decision) => {
      // The balance of an earlier refusal is out of date.
      if (decision.allowed && takes && cost > 0) refusals.delete(spec, key);
      else if (lasts && isWorthKeeping(decision) && freed[counter] === before) {
        refused.set(key, { decision, cost, at, ownTime: now === undefined, promised });
      }
      return decision;
    });
  };
}

/** Runs work that may free units of keys, and forgets their refusals, even refusals under way. */
function freeKeys<Value>(
  { refusals, freed }: DenyCache,
  keys: readonly SpecKey[],
  call: () => MaybePromise<Value>,
): MaybePromise<Value> {
  return forgetAround(() => {
    for (const { spec, key } of keys) {
      freed[counterOf(key)]!++;
      refusals.delete(spec, key);
    }
  }, call);
}

/** The answer of a remembered refusal to a call, if the refusal still holds. */
function answerOf(
  { decision, cost: least, at, ownTime, promised }: Refusal,
  cost: number,
  now: number | undefined,
): MaybePromise<Decision> | undefined {
  if (cost < least || ownTime !== (now === undefined)) return undefined;
  const passed = (now ?? agingTime()) - at;
  // The store counts in whole milliseconds, and may have rounded its instant down.
  if (passed >= decision.retryAfter - (ownTime ? 1 : 0)) return undefined;
  const answer = ageDecision(decision, passed);
  return promised ? Promise.resolve(answer) : answer;
}

/** Whether a decision is a refusal by the store itself that holds for a time. */
function isWorthKeeping({ allowed, retryAfter, source }: Decision): boolean {
  return !allowed && retryAfter < Infinity && source === undefined;
}

function counterOf(key: string): number {
  return fnv1a(key) % COUNTERS;
}
