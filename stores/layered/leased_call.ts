/*
 * One call in many asks the store for a block, of which it has its own units, and those that come
 * after it have theirs. They need not wait until it is there. A block that was requested is promised
 * unit by unit, and a call that finds all of it promised requests another one at once; so that any
 * number of calls at once are as many requests as they need blocks, and one wait.
 *
 * | what the store says of a block | the calls that were promised units of it |
 * |---|---|
 * | admitted | have them |
 * | refused | request their own units, each by itself: there may be some left |
 * | answered by a failure policy | are answered by that: nothing was taken, and nothing is held |
 * | an error | receive it |
 *
 * An error or a policy's answer is never followed by another request, so a store that is away keeps
 * nobody waiting longer than it would without this.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { prepareCall } from "../../core/limiter/prepare_call.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import { LONGEST_KEY } from "../../core/options/longest_key.ts";
import type { PreparedCall, Store } from "../../core/store.ts";
import { ageDecision } from "./age_decision.ts";
import type { KeyedCache, LimiterKeys } from "./keyed_cache.ts";

/** The store that blocks are of, how large they are, and what is held of them. */
export interface Lease {
  readonly store: Store;
  readonly keys: KeyedCache<LeasedKey>;
  /** The units of one block. */
  readonly units: number;
  /** For how many milliseconds a block may be used. */
  readonly ttl: number;
}

/** What is held of a key. */
export interface LeasedKey {
  block: Block | undefined;
  /** Until when no block is worth requesting, as the store has refused one. */
  noBlockUntil: number;
  /** Whether its instants are by `performance.now`, and not by the caller's clock. */
  readonly ownTime: boolean;
}

/** A block of units: requested, then given by the store, and handed out here. */
interface Block {
  /** Units that no call has been promised; none where the store did not give them. */
  left: number;
  /** When it was requested. */
  readonly at: number;
  /** The store's answer: at once or by a promise, as the store does. */
  answer: MaybePromise<Decision> | undefined;
  /** What the store said as it gave the units; `undefined` until then. */
  given: Decision | undefined;
}

type Decide = PreparedCall<MaybePromise<Decision>>;

/** The store's prepared call, made for a block at a time. */
export function leasedCall(
  { store, keys: allKeys, units, ttl }: Lease,
  prefix: string,
  algorithm: Algorithm,
): Decide {
  const decide: Decide = prepareCall(store, prefix, algorithm).decide;
  const keys = allKeys.of(prefix, algorithm.id);
  const size = Math.min(units, algorithm.capacity);

  return function decideOne(key, cost, dry, now) {
    if (cost < 0 || cost > size || key.length > LONGEST_KEY) return decide(key, cost, dry, now);
    const at = now ?? performance.now();
    const leased = leasedKey(keys, key, now === undefined);
    const { block } = leased;
    const left = block !== undefined && at - block.at < ttl ? block.left : 0;
    if (cost === 0) return peekWithBlock(block, left, decide(key, cost, dry, now));
    if (left >= cost) return handOut(block!, decide, key, cost, dry, now, at);
    if (dry || at < leased.noBlockUntil) return decide(key, cost, dry, now);
    const bought = buyBlock(leased, size, at, ttl, decide, key, now);
    if (bought.left - cost >= left) leased.block = bought;
    return handOut(bought, decide, key, cost, dry, now, at);
  };
}

function leasedKey(keys: LimiterKeys<LeasedKey>, key: string, ownTime: boolean): LeasedKey {
  const known = keys.get(key);
  if (known !== undefined && known.ownTime === ownTime) return known;
  const made: LeasedKey = { block: undefined, noBlockUntil: -Infinity, ownTime };
  keys.set(key, made);
  return made;
}

/** Requests a block. Calls that come before the answer may be promised units of it. */
function buyBlock(
  leased: LeasedKey,
  size: number,
  at: number,
  ttl: number,
  decide: Decide,
  key: string,
  now: number | undefined,
): Block {
  const block: Block = { left: size, at, answer: undefined, given: undefined };
  const request = () =>
    andThen(decide(key, size, false, now), (decision) => note(decision, block, leased, ttl));
  block.answer = orElse<Decision>(request, (error) => {
    block.left = 0;
    throw error;
  });
  return block;
}

/** Notes what the store says of a block. */
function note(decision: Decision, block: Block, leased: LeasedKey, ttl: number): Decision {
  const { allowed, retryAfter, source } = decision;
  if (allowed && source !== "policy") {
    block.given = decision;
    return decision;
  }
  block.left = 0;
  // What another store refuses, this one may give as soon as it is back; a policy knows nothing.
  const wait = source === undefined ? retryAfter : Math.min(retryAfter, ttl);
  if (source !== "policy") leased.noBlockUntil = block.at + wait;
  return decision;
}

/** Promises a call units of a block. */
function handOut(
  block: Block,
  decide: Decide,
  key: string,
  cost: number,
  dry: boolean,
  now: number | undefined,
  at: number,
): MaybePromise<Decision> {
  const left = block.left - cost;
  if (!dry) block.left = left;
  const { given, answer } = block;
  const passed = at - block.at;
  // The closure in a function of its own, as this is the hot path.
  if (given === undefined) return whenGiven(block, left, passed, decide, key, cost, dry, now);
  const decision = decideFromBlock(given, left, passed);
  return isPromise(answer!) ? Promise.resolve(decision) : decision;
}

/** Answers a call when it is known whether the store gives the block. */
function whenGiven(
  block: Block,
  left: number,
  passed: number,
  decide: Decide,
  ...call: Parameters<Decide>
): MaybePromise<Decision> {
  return andThen(block.answer!, (decision) => {
    if (block.given !== undefined) return decideFromBlock(decision, left, passed);
    return decision.source === "policy" ? decision : decide(...call);
  });
}

/** The decision of a call that has units of a block: what the store said some milliseconds ago. */
function decideFromBlock(given: Decision, left: number, passed: number): Decision {
  return ageDecision(given, passed, Math.max(left, given.remaining));
}

/** The balance, with what is left of a block if the store has given it. */
function peekWithBlock(
  block: Block | undefined,
  left: number,
  look: MaybePromise<Decision>,
): MaybePromise<Decision> {
  return andThen(look, (decision) => {
    if (block?.given === undefined || left <= decision.remaining) return decision;
    return { ...decision, remaining: left };
  });
}
