/*
 * One call in many asks the store for a block. It gets its own units from that block, and so do the
 * calls after it. These need not wait until the block is there, because the units of a requested block
 * are promised in turn. A call that finds too few units left takes them, and the rest from another
 * block, which it requests at once. So calls that come together make one request for each block that
 * they need, and wait for one round trip.
 *
 * | the store's answer to a block | the calls that were promised its units |
 * |---|---|
 * | admitted | have them |
 * | refused | request their own units, each alone, because a few units may be left |
 * | answered by a failure policy | get the policy's answer: nothing was taken, and nothing is held |
 * | an error | receive it |
 *
 * The first block of a key is its first call. A block that was used up in its time is followed by one
 * of twice its units, and any other block by one of the units that were used of it. The rest of a block
 * goes back to the store when the block ends (block_ends.ts).
 *
 * No further request follows an error or a policy's answer, so a store that is away keeps nobody
 * waiting longer than without a lease. A call that is not admitted leaves its units of other blocks to
 * the next call.
 */

import type { Decision } from "../../core/decision.ts";
import { allOf, andThen, isPromise, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import { LONGEST_KEY } from "../../core/options/longest_key.ts";
import type { AnyCall } from "../../core/wrap_store.ts";
import { ageDecision } from "./age_decision.ts";
import type { BlockEnds } from "./block_ends.ts";
import type { FamilyCache } from "./keyed_cache.ts";
import { agingTime } from "../aging_time.ts";

/** The lease on a key. */
export interface LeasedKey {
  block: Block | undefined;
  /** The units of the next block, if the last one has ended. */
  size: number;
  /** Whether its block will be ended in time. */
  isWatched: boolean;
  /** The instant before which no block is worth requesting, because the store has refused one. */
  noBlockUntil: number;
  /** Whether its instants come from the process's time, and not from the caller's clock. */
  readonly ownTime: boolean;
}

/** A block of units. It is requested, then given by the store, and handed out here. */
interface Block {
  /** Units that were requested. */
  readonly size: number;
  /** Units that are not promised to a call yet; 0 if the store did not give the block. */
  left: number;
  /** The instant of its request. */
  readonly at: number;
  /** Ends once the store has answered, at once or by a promise, like the store. It never fails. */
  answered: MaybePromise<void>;
  /** The decision with which the store gave the units; `undefined` until then. */
  given: Decision | undefined;
  /** The store's answer when it gave no units. */
  denied: Denial | undefined;
}

type Denial = { readonly decision: Decision } | { readonly error: unknown };

/** The units of a block that were promised to a call, and the units left in the block. */
interface Share {
  readonly block: Block;
  readonly units: number;
  readonly left: number;
}

/** A call on a key. */
interface Call {
  readonly leased: LeasedKey;
  readonly key: string;
  readonly cost: number;
  readonly dry: boolean;
  /** The limiter's instant, and the instant by which blocks are kept. */
  readonly now: number | undefined;
  readonly at: number;
}

/** A call of that many units. */
type UnitsCall = (key: string, cost: number, now: number | undefined) => MaybePromise<Decision>;

/** The lease of one limiter. */
export interface LimiterLease {
  /** The store's `consume`. */
  readonly take: UnitsCall;
  /** The store's `peek`. */
  readonly look: UnitsCall;
  readonly keys: FamilyCache<LeasedKey>;
  /** The store's `refund`. */
  readonly giveBack: UnitsCall;
  /** The most units of a block. */
  readonly size: number;
  /** Milliseconds for which a block may be used. */
  readonly ttl: number;
  readonly ends: BlockEnds;
}

/** `consume` and `peek` of the store, for a block at a time. */
export function leasedCall(
  lease: LimiterLease,
): (key: string, cost: number, dry: boolean, now: number | undefined) => MaybePromise<Decision> {
  const { take, look, keys, size, ttl } = lease;

  return function decideOne(key, cost, dry, now) {
    const decide = dry ? look : take;
    if (cost > size || key.length > LONGEST_KEY) return decide(key, cost, now);
    const at = now ?? agingTime();
    const leased = leasedKey(keys, key, now === undefined);
    const { block } = leased;
    // A block from the future does not count: the clock was set back.
    const age = block === undefined ? Infinity : at - block.at;
    const left = age >= 0 && age < ttl ? block!.left : 0;
    if (block?.given !== undefined && left >= cost && cost > 0) {
      if (!dry) block.left = left - cost;
      const decision = decideFromBlock(block.given, left - cost, at - block.at, size);
      return isPromise(block.answered) ? Promise.resolve(decision) : decision;
    }
    if (cost === 0) return peekWithBlock(decide(key, cost, now), block, left, size);
    if (left === 0 && (dry || at < leased.noBlockUntil)) return decide(key, cost, now);
    return gather(lease, { leased, key, cost, dry, now, at }, left);
  };
}

function leasedKey(keys: FamilyCache<LeasedKey>, key: string, ownTime: boolean): LeasedKey {
  const known = keys.get(key);
  if (known !== undefined && known.ownTime === ownTime) return known;
  const made: LeasedKey = {
    block: undefined,
    size: 1,
    isWatched: false,
    noBlockUntil: -Infinity,
    ownTime,
  };
  keys.set(key, made);
  return made;
}

/** Gathers a call's units from the rest of the key's block and from another block. */
function gather(lease: LimiterLease, call: Call, left: number): MaybePromise<Decision> {
  const { leased, cost, dry, at } = call;
  const shares: Share[] = [];
  if (left > 0) shares.push(takeShare(leased.block!, Math.min(left, cost), dry));
  if (left < cost && !dry && at >= leased.noBlockUntil) {
    const share = requestBlock(lease, call, cost - left);
    leased.block = share.block;
    shares.push(share);
  }
  const answered = allOf(shares.map(({ block }) => block.answered));
  return andThen(answered, () => decideWithShares(lease, call, shares));
}

/** Promises a call units of a block. */
function takeShare(block: Block, units: number, dry: boolean): Share {
  const left = block.left - units;
  if (!dry) block.left = left;
  return { block, units, left };
}

/** Requests a block and takes units of it. Calls that come before the answer get the other units. */
function requestBlock(lease: LimiterLease, call: Call, units: number): Share {
  const { take, ttl } = lease;
  const { leased, key, now, at } = call;
  const size = Math.min(lease.size, Math.max(units, nextSize(leased, at, ttl)));
  const left = size - units;
  const block: Block = { size, left, at, answered: undefined, given: undefined, denied: undefined };
  if (left > 0 && now === undefined) watch(lease, leased, key);
  const request = () =>
    andThen(take(key, size, now), (decision) => noteAnswer(decision, block, leased, ttl));
  block.answered = orElse<void>(request, (error) => {
    block.left = 0;
    block.denied = { error };
  });
  return { block, units, left };
}

/**
 * The units of the next block: twice those of a block that was used up in its time, otherwise as many as
 * were used of it.
 */
function nextSize({ block, size }: LeasedKey, at: number, ttl: number): number {
  if (block === undefined) return size;
  const isOver = at - block.at >= ttl;
  return block.left === 0 && block.denied === undefined && !isOver
    ? 2 * block.size
    : Math.max(1, block.size - block.left);
}

/** Gives the unused rest of a block back, unless the key was forgotten meanwhile. */
function watch({ keys, ends, giveBack }: LimiterLease, leased: LeasedKey, key: string): void {
  if (leased.isWatched) return;
  leased.isWatched = ends.watch({
    since: () => keys.get(key) === leased ? leased.block?.at : undefined,
    end(isInTime) {
      leased.isWatched = false;
      if (isInTime) void endBlock(giveBack, leased, key, undefined);
    },
  });
}

/** Ends a block that the store has given, and gives its unused units back. If that fails, they are lost. */
function endBlock(
  giveBack: UnitsCall,
  leased: LeasedKey,
  key: string,
  now: number | undefined,
): MaybePromise<unknown> {
  const { block } = leased;
  if (block?.given === undefined) return undefined;
  const { left } = block;
  leased.size = nextSize(leased, block.at, Infinity);
  leased.block = undefined;
  block.left = 0;
  if (left === 0) return undefined;
  return orElse<unknown>(() => giveBack(key, left, now), () => undefined);
}

/** The store's call of a verb for which all free units must be in the store. */
export function callWithoutBlock(
  { giveBack, keys, ttl }: Pick<LimiterLease, "giveBack" | "keys" | "ttl">,
  call: AnyCall,
): AnyCall {
  return function callOnStore(key, argument, now) {
    const leased = keys.get(key);
    const age = (now ?? agingTime()) - (leased?.block?.at ?? -Infinity);
    const isInTime = leased !== undefined && age >= 0 && age < ttl;
    const ended = isInTime ? endBlock(giveBack, leased, key, now) : undefined;
    return andThen<unknown, unknown>(ended, () => call(key, argument, now));
  };
}

/** Notes the store's answer to a block. */
function noteAnswer(decision: Decision, block: Block, leased: LeasedKey, ttl: number): void {
  const { allowed, retryAfter, source } = decision;
  if (allowed && source !== "policy") {
    block.given = decision;
    return;
  }
  block.left = 0;
  block.denied = { decision };
  // After a refusal by another store, wait at most a ttl, because this store may be back by then.
  const wait = source === undefined ? retryAfter : Math.min(retryAfter, ttl);
  if (source !== "policy") leased.noBlockUntil = block.at + wait;
}

/** Answers a call once the store has given or refused its blocks. */
function decideWithShares(
  lease: LimiterLease,
  call: Call,
  shares: readonly Share[],
): MaybePromise<Decision> {
  const given = shares.filter(({ block }) => block.given !== undefined);
  const units = given.reduce((sum, share) => sum + share.units, 0);
  const failed = shares.find(({ block: { denied } }) => denied !== undefined && isFinal(denied));
  if (failed !== undefined) {
    restore(call, given);
    return answerOf(failed.block.denied!);
  }
  if (units < call.cost) return requestRest(lease, call, given, units);
  const { block, left } = given.at(-1)!;
  return decideFromBlock(block.given!, left, call.at - block.at, lease.size);
}

/** Requests the units of a call that no block gave it. */
function requestRest(
  { take, look, size }: LimiterLease,
  call: Call,
  given: readonly Share[],
  units: number,
): MaybePromise<Decision> {
  const { key, cost, dry, now } = call;
  const decide = dry ? look : take;
  const own = orElse<Decision>(() => decide(key, cost - units, now), (error) => {
    restore(call, given);
    throw error;
  });
  return andThen(own, (decision) => {
    if (decision.allowed && decision.source !== "policy") return decision;
    restore(call, given);
    return withBlockUnits(decision, units, size);
  });
}

/** Whether the calls of a block get its answer, and make no requests of their own. */
function isFinal(denied: Denial): boolean {
  return "error" in denied || denied.decision.source === "policy";
}

function answerOf(denied: Denial): Decision {
  if ("error" in denied) throw denied.error;
  return denied.decision;
}

/** Leaves units that a call got and cannot use to the calls after it. */
function restore({ leased, dry }: Call, shares: readonly Share[]): void {
  if (dry) return;
  for (const { block, units } of shares) {
    block.left += units;
    if (block.left > (leased.block?.left ?? 0)) leased.block = block;
  }
}

/** The decision of a call with units of a block: the store's decision, some milliseconds older. */
function decideFromBlock(given: Decision, left: number, passed: number, size: number): Decision {
  return ageDecision(given, passed, (remaining) => mostAtOnce(remaining, left, size));
}

/** The balance, including the units that are left of a given block. */
function peekWithBlock(
  look: MaybePromise<Decision>,
  block: Block | undefined,
  left: number,
  size: number,
): MaybePromise<Decision> {
  return andThen(look, (decision) => {
    return block?.given === undefined ? decision : withBlockUnits(decision, left, size);
  });
}

/** A decision of the store, if units of a block are left as well. */
function withBlockUnits(decision: Decision, left: number, size: number): Decision {
  if (left === 0) return decision;
  return {
    ...decision,
    remaining: mostAtOnce(decision.remaining, left, size),
    parts: decision.parts?.map((part) => withBlockUnits(part, left, size)),
  };
}

/**
 * The units that one call could take: from block and store up to the size of a block, or more from
 * the store alone.
 */
function mostAtOnce(remaining: number, left: number, size: number): number {
  return Math.max(remaining, Math.min(remaining + left, size));
}
