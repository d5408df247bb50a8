/*
 * Takes units of a limit in blocks. One call in many reaches the store and takes a block, and the
 * other calls get their units from it.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { holdsPermits } from "../../core/algorithms/holds_permits.ts";
import { mayDelay } from "../../core/algorithms/may_delay.ts";
import { mayLock } from "../../core/algorithms/may_lock.ts";
import { checkInteger, checkOptions, checkStore, rangeError } from "../../core/options/checks.ts";
import { andThen, type MaybePromise } from "../../core/maybe_promise.ts";
import { type Period, readPeriod } from "../../core/options/period.ts";
import type { Operation, Store, StoreBase } from "../../core/store.ts";
import { block } from "../../core/verbs/block.ts";
import { consume } from "../../core/verbs/consume.ts";
import { peek } from "../../core/verbs/peek.ts";
import { isRefundable, refund } from "../../core/verbs/refund.ts";
import { takeUpTo } from "../../core/verbs/take_up_to.ts";
import { wrapStore } from "../../core/wrap_store.ts";
import { blockEnds } from "./block_ends.ts";
import { forgetAround, keyedCache } from "./keyed_cache.ts";
import { callWithoutBlock, leasedCall, type LeasedKey } from "./leased_call.ts";
import { hasShares, leasedPermits } from "./leased_permits.ts";
import { runWithPermits } from "./run_with_permits.ts";

type AnyBound = Operation["bound"];

/** The options of `lease`. */
export interface LeaseOptions {
  /** The most units of a block; an integer of at least 2. */
  readonly units: number;
  /** The time for which a block may be used, in milliseconds or as text: `"50ms"`. */
  readonly ttl: Period;
  /** The most keys for which blocks or shares are held; a positive integer; default 10,000. */
  readonly maxKeys?: number | undefined;
}

/**
 * A store that takes units a block at a time, and hands them out itself. Most calls are answered
 * without a call to the store.
 *
 * Charges keep to the limit exactly, to the last unit. A block is taken as one call of that cost, and
 * if the store has fewer units left, they are taken one call at a time. The blocks of a key begin with
 * the cost of its first call. They grow twofold while they are used up in their time, up to `units`, and
 * shrink to what is used of them. A call that costs more than its block has left takes the rest from the
 * next block.
 *
 * Units may be used up to `ttl` after they were charged. Unused units go back to the store once half of
 * the `ttl` has passed. They are lost where the process ends, where it is busy for another half, and
 * under a limiter with a `clock` of its own. So the use in any span d is bounded by the units that the
 * policy admits in d + ttl: with `gcra({ limit: 1_000, period: "1s", burst: 100 })` and a ttl of 50 ms, a
 * second sees at most 100 + 1,050 units used in place of 100 + 1,000.
 *
 * Calls that come while a block is being requested get units of it, and share its fate: an error,
 * or the answer of a failure policy, goes to all of them. If the store refuses the block, each
 * requests its own units. So calls at once make one request for each block that they need, and wait
 * for one round trip, or for two where the limit is nearly reached.
 *
 * A call that costs more than a block goes straight to the store, and so do refunds, looks and
 * calls on several keys at once. The `remaining` and the waits of an answer are as old as its
 * block. A block is smaller than the capacity. `leakyQueue` is not accepted, because each of its
 * calls has its own place in time; nor is `lockout`, because a block of tries would lock the key.
 *
 * With `concurrency`, a process takes a share of the units, and gives out permits from it. All
 * processes together never give out more than the limit. The text in the store has one entry for each
 * process, so limits may be as large as 1,000,000. A process takes up to `units` more than it needs,
 * and gives them back once no permit of the key has been held or released for a `ttl`. `all` with a
 * part of `concurrency` is not accepted.
 *
 * Takes constant time, and holds at most `maxKeys` keys, of some 300 bytes and twice their own text
 * each. Calls on keys of more than 1,024 characters always go to the store.
 *
 * @param store The store to take from, of any kind.
 * @param options As above.
 * @returns A store with all other members of the inner store, such as `statistics`.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { lease } from "tidegate/stores";
 * import assert from "node:assert/strict";
 *
 * const shared = memoryStore();
 * const algorithm = gcra({ limit: 100, period: "1m", burst: 100 });
 * const store = lease(shared, { units: 10, ttl: "50ms" });
 * const api = limiter(algorithm, { store, prefix: "api" });
 * const exact = limiter(algorithm, { store: shared, prefix: "api" });
 *
 * for (let call = 0; call < 6; call++) api.consume("user:42"); // blocks of 1, 2 and 4
 * assert.equal(exact.peek("user:42", 0).remaining, 93); // one unit is left in the last
 * ```
 */
export function lease<OfStore extends Store>(store: OfStore, options: LeaseOptions): OfStore;
export function lease(store: Store, options: LeaseOptions): Store {
  const action = "create lease";
  checkStore(action, "its store", store);
  checkOptions<LeaseOptions>(action, options, { units: true, ttl: true, maxKeys: true });
  const { units, maxKeys = 10_000 } = options;
  checkInteger(action, "units", units, 2);
  checkInteger(action, "maxKeys", maxKeys, 1);
  const ttl = readPeriod(action, "ttl", options.ttl);
  const keys = keyedCache<LeasedKey>(maxKeys);

  /** After a refund, bounds the units that a block may still hand out by the units in use. */
  function keepUsed(
    { bound: { family, verb }, key }: { bound: Pick<AnyBound, "family" | "verb">; key: string },
    answer: unknown,
  ): unknown {
    const held = keys.of(family).get(key)?.block;
    if (held === undefined) return answer;
    const { remaining, debt } = verb.decisionOf(answer);
    held.left = Math.min(held.left, family.spec.algorithm.capacity - remaining + debt);
    return answer;
  }

  const ends = blockEnds(ttl, maxKeys);
  const permits = leasedPermits({ units, ttl, maxKeys });

  return wrapStore(store, {
    open(spec) {
      const isPermit = hasShares(spec.algorithm);
      if (!isPermit) requireLeasable(spec.algorithm);
      const family = (store as StoreBase).open(spec);
      return isPermit ? permits.open(family) : family;
    },
    call({ family, verb, call }) {
      const { algorithm } = family.spec;
      // A lease gives back what it did not use. Where it cannot, the key is asked for each call.
      if (hasShares(algorithm) || !isRefundable(algorithm)) return call;
      const isLook = (verb as unknown) === peek;
      if ((verb as unknown) === block) {
        // Forget the lease on the key, because a blocked key must not use its units.
        return (key, duration, now) =>
          forgetAround(() => keys.delete(family.spec, key), () => call(key, duration, now));
      }
      if (verb.kind === "free") {
        return (key, argument, now) =>
          andThen<unknown, unknown>(
            call(key, argument, now),
            (answer) => keepUsed({ bound: { family, verb }, key }, answer),
          );
      }
      const isUpTo = (verb as unknown) === takeUpTo;
      if (!isLook && !isUpTo && (verb as unknown) !== consume) return call;
      const giveBack = family.bind(refund).call;
      if (isUpTo) return callWithoutBlock({ giveBack, keys: keys.of(family), ttl }, call);
      const decide = leasedCall({
        take: family.bind(consume).call,
        look: family.bind(peek).call,
        giveBack,
        keys: keys.of(family),
        // A single block must not fill an unused limit.
        size: Math.min(units, algorithm.capacity - 1),
        ttl,
        ends,
      });
      return (key, cost: number, now) => decide(key, cost, isLook, now);
    },
    run: (operations, now) =>
      runWithPermits(
        operations,
        now,
        permits,
        (others) =>
          andThen(store.run(others, now) as MaybePromise<readonly unknown[]>, (answers) => {
            others.forEach((operation, index) => {
              if (operation.bound.verb.kind === "free") keepUsed(operation, answers[index]);
            });
            return answers;
          }),
      ),
    delete: (family, key) =>
      forgetAround<void>(() => {
        keys.delete(family.spec, key);
        permits.forget(family, key);
      }, () => family.delete(key)),
    deleteAll: store.deleteAll && ((prefix) =>
      forgetAround<void>(() => {
        keys.clear();
        permits.clear();
      }, () => store.deleteAll!(prefix))),
  });
}

function requireLeasable(algorithm: Algorithm): void {
  const rule = holdsPermits(algorithm)
    ? "concurrency must stand alone, not inside all or blockable"
    : mayLock(algorithm)
    ? "its algorithm must not be lockout, because taking a block of units would lock the key"
    : mayDelay(algorithm)
    ? "its algorithm must start calls at once, without a delay"
    : undefined;
  if (rule !== undefined) throw rangeError("create limiter on lease", rule, algorithm.id);
}
