/*
 * One call in many asks the store: for a block, of which it has its own units, and those that come
 * after it have theirs. They need not wait until it is there. A block that was asked for is promised
 * unit by unit, and a call that finds all of it promised asks for another one at once; so that any
 * number of calls at once are as many asks as they need blocks, and one wait.
 *
 * | what the store says of a block | the calls that were promised units of it |
 * |---|---|
 * | admitted | have them |
 * | refused | ask for their own units, each by itself: there may be some left |
 * | answered by a failure policy | are answered by that: nothing was taken, and nothing is held |
 * | an error | are told of it |
 *
 * An error or a policy's answer is never followed by another ask, so a store that is away keeps
 * nobody waiting longer than it would without this.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { checkInteger, checkOptions, checkStore, errorMessage } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { parsePeriod, type Period } from "../../core/options/period.ts";
import type { AsyncStore, Operation, PreparedCall, Store, SyncStore } from "../../core/store.ts";
import { ageDecision } from "./age_decision.ts";
import { andFinally, andThen, likeAnswer, orElse } from "./maybe_promise.ts";
import { keyedCache, type LimiterKeys } from "./keyed_cache.ts";
import { preparedCall } from "./prepared_call.ts";
import { LONGEST_KEY } from "../../core/options/longest_key.ts";
import { wrapStore } from "./wrap_store.ts";

/** The options of `lease`. */
export interface LeaseOptions {
  /** The units of one block; an integer of at least 2. */
  readonly units: number;
  /** How long a block may be used, in milliseconds or as text: `"50ms"`. */
  readonly ttl: Period;
  /** The most keys of which something is held; a positive integer; default 10,000. */
  readonly maxKeys?: number | undefined;
}

/** A block of units: asked for, then given by the store, and handed out here. */
interface Block {
  /** Units that no call has been promised; none where the store did not give them. */
  left: number;
  /** When it was asked for. */
  readonly at: number;
  /** The store's answer: at once or by a promise, as the store does. */
  answer: Decision | undefined;
  /** What the store said as it gave the units; `undefined` until then. */
  given: Decision | undefined;
}

/** What is held of a key. */
interface LeasedKey {
  block: Block | undefined;
  /** Until when no block is worth asking for, as the store has refused one. */
  noBlockUntil: number;
  /** Whether its instants are by `performance.now`, and not by the caller's clock. */
  readonly ownTime: boolean;
}

/**
 * A store that takes units a block at a time, and hands them out by itself: most calls are answered
 * without asking the store.
 *
 * Charges keep to the limit exactly, to the last unit: a block is taken as one call of that cost,
 * and where the store has fewer left, units are taken one call at a time. But units may be used up
 * to `ttl` after they were charged, and those that nobody used by then are lost. So the use in any
 * span d is bounded by what the policy admits in d + ttl. With `gcra({ limit: 1_000, period: "1s",
 * burst: 100 })`, blocks of 20 and a ttl of 50 ms, a second sees at most 100 + 1,050 units used in
 * place of 100 + 1,000; with 10 processes that each see a call now and then, up to 10 * 20 units
 * may be lost every 50 ms, so choose blocks small against what a process uses in a ttl.
 *
 * Calls that come while a block is on its way have units of it, and what becomes of it becomes of
 * them: an error, or the answer of a failure policy, is theirs too. Where the store refuses it, each
 * asks for its own units. So any number of calls at once are as many asks as they need blocks, and
 * take one wait; two where the limit is nearly reached.
 *
 * A larger cost than a block goes straight to the store; so do refunds, looks and calls on several
 * keys at once. What a call is told of `remaining` and of waits is as old as its block. `leakyQueue`
 * is not accepted, as its calls have their places in time.
 *
 * Constant time; at most `maxKeys` keys are held, some 300 bytes and twice their own text each. Calls
 * on keys of more than 1,024 characters always ask the store.
 *
 * @param store The store to take from, of any kind.
 * @param options As above.
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
 * const algorithm = gcra({ limit: 100, period: "1m" });
 * const store = lease(shared, { units: 10, ttl: "50ms" });
 * const api = limiter(algorithm, { store, prefix: "api" });
 * const exact = limiter(algorithm, { store: shared, prefix: "api" });
 *
 * assert.equal(api.consume("user:42").allowed, true);
 * assert.equal(exact.peek("user:42", 0).remaining, 90); // a block is gone
 * ```
 */
export function lease(store: SyncStore, options: LeaseOptions): SyncStore;
/** The same on a store that answers by promises. */
export function lease(store: AsyncStore, options: LeaseOptions): AsyncStore;
/** The same on a store of either kind. */
export function lease(store: Store, options: LeaseOptions): Store;
export function lease(store: Store, options: LeaseOptions): Store {
  const action = "create lease";
  checkStore(action, "its store", store);
  checkOptions(action, options);
  const { units, maxKeys = 10_000 } = options;
  checkInteger(action, "units", units, 2);
  checkInteger(action, "maxKeys", maxKeys, 1);
  const ttl = parsePeriod(action, "ttl", options.ttl);
  const inner = store as SyncStore;
  const tenants = keyedCache<LeasedKey>(inner, maxKeys);

  function tenantOf(keys: LimiterKeys<LeasedKey>, key: string, ownTime: boolean): LeasedKey {
    const known = keys.get(key);
    if (known !== undefined && known.ownTime === ownTime) return known;
    const tenant: LeasedKey = { block: undefined, noBlockUntil: -Infinity, ownTime };
    keys.set(key, tenant);
    return tenant;
  }

  /** Takes note of what came of asking for a block. */
  function note(decision: Decision, block: Block, tenant: LeasedKey): Decision {
    const { allowed, retryAfter, source } = decision;
    if (allowed && source !== "policy") {
      block.given = decision;
      return decision;
    }
    block.left = 0;
    // What another store refuses, this one may give as soon as it is back; a policy knows nothing.
    const wait = source === undefined ? retryAfter : Math.min(retryAfter, ttl);
    if (source !== "policy") tenant.noBlockUntil = block.at + wait;
    return decision;
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    const ask = preparedCall(inner, prefix, algorithm);
    const keys = tenants.of(prefix, algorithm.id);
    const size = Math.min(units, algorithm.capacity);

    function decideOne(key: string, cost: number, dry: boolean, now: number | undefined): Decision {
      if (cost < 0 || cost > size || key.length > LONGEST_KEY) return ask(key, cost, dry, now);
      const at = now ?? performance.now();
      const tenant = tenantOf(keys, key, now === undefined);
      const { block } = tenant;
      const left = block !== undefined && at - block.at < ttl ? block.left : 0;
      if (cost === 0) return peekWithBlock(block, left, ask(key, cost, dry, now));
      if (left >= cost) return handOut(block!, key, cost, dry, now, at);
      if (dry || at < tenant.noBlockUntil) return ask(key, cost, dry, now);
      const bought = buy(tenant, key, now, at);
      if (bought.left - cost >= left) tenant.block = bought;
      return handOut(bought, key, cost, dry, now, at);
    }

    /** Asks for a block. Calls that come before the answer may be promised units of it. */
    function buy(tenant: LeasedKey, key: string, now: number | undefined, at: number): Block {
      const block: Block = { left: size, at, answer: undefined, given: undefined };
      const asked = () => andThen(ask(key, size, false, now), (told) => note(told, block, tenant));
      block.answer = orElse(asked, (error) => {
        block.left = 0;
        throw error;
      });
      return block;
    }

    /** Promises a call units of a block. */
    function handOut(
      block: Block,
      key: string,
      cost: number,
      dry: boolean,
      now: number | undefined,
      at: number,
    ): Decision {
      const left = block.left - cost;
      if (!dry) block.left = left;
      const passed = at - block.at;
      // The closure in a function of its own, as this is the hot path.
      return block.given === undefined
        ? whenGiven(block, left, passed, key, cost, dry, now)
        : likeAnswer(block.answer, decideFromBlock(block.given, left, passed));
    }

    /** Answers a call when it is known whether the store gives the block. */
    function whenGiven(
      block: Block,
      left: number,
      passed: number,
      ...call: Parameters<PreparedCall<Decision>>
    ): Decision {
      return andThen(block.answer!, (decision) => {
        if (block.given !== undefined) return decideFromBlock(decision, left, passed);
        return decision.source === "policy" ? decision : ask(...call);
      });
    }

    return decideOne;
  }

  function run(operations: readonly Operation[], now?: number): readonly Decision[] {
    return inner.run(operations, now);
  }

  function forget(key: string): void {
    tenants.delete(key);
    return andFinally(() => inner.delete(key), () => tenants.delete(key));
  }

  function accepts(algorithm: Algorithm): void {
    if (/\bleakyQueue\b/.test(algorithm.id)) {
      const rule = "lease must be given an algorithm that starts calls at once";
      throw new RangeError(errorMessage("hand out units", rule, algorithm.id));
    }
    inner.accepts(algorithm);
  }

  return wrapStore(inner, { run, internals: { prepare }, accepts, delete: forget });
}

/** What a call is told that has units of a block: what the store said some milliseconds ago. */
function decideFromBlock(given: Decision, left: number, passed: number): Decision {
  return ageDecision(given, passed, Math.max(left, given.remaining));
}

/** The balance, with what is left of a block if the store has given it. */
function peekWithBlock(block: Block | undefined, left: number, look: Decision): Decision {
  return andThen(
    look,
    (decision) => block?.given === undefined ? decision : addBlockUnits(decision, left),
  );
}

/** A decision that knows of the units left in a block. */
function addBlockUnits(decision: Decision, left: number): Decision {
  return left > decision.remaining ? { ...decision, remaining: left } : decision;
}
