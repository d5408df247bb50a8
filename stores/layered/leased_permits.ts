/*
 * Permits that a process gives out on its own. It holds a share of each key's units, and the store
 * knows only that share: its holder, its units, the number of its last message, and the instant at
 * which it expires. Most permits are then held and released without a call to the store.
 *
 * A process may be unsure which message the store has noted. It gives out only the units that it has
 * in every case:
 *
 * | the message | units while it is under way | units once it is answered |
 * |---|---|---|
 * | asks for more units | the earlier units | the units of the answer |
 * | asks for fewer units | the units that it asks for | the units of the answer |
 * | is lost | the same as under way | the next message repeats everything |
 *
 * A share that nobody renews ends a ttl after the last answered message was sent. It ends here before
 * it ends in the store. Its permits are then lost, and the next permit begins another share under
 * another name.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { bindOnce } from "../../core/bind_once.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import { andFinally, andThen, isPromise, type MaybePromise } from "../../core/maybe_promise.ts";
import type { BoundVerb, Family, Operation } from "../../core/store.ts";
import { hold } from "../../core/verbs/hold.ts";
import { peek } from "../../core/verbs/peek.ts";
import type { PermitArgument } from "../../core/verbs/permit_steps.ts";
import { release } from "../../core/verbs/release.ts";
import { renew } from "../../core/verbs/renew.ts";
import type { AnyCall } from "../../core/wrap_store.ts";
import { ageDecision } from "./age_decision.ts";
import { type OpenShare, type OpenShares, openShares } from "./open_shares.ts";
import { type SharePools, sharePools } from "./share_pools.ts";

/** The options of leased permits. */
export interface PermitLease {
  /** The units that a process takes beyond its needs. */
  readonly units: number;
  /** Milliseconds for which it keeps units that nobody needs. */
  readonly ttl: number;
  /** The most keys that are kept without permits. */
  readonly maxKeys: number;
}

/** Whether processes can give out permits of an algorithm. */
export function hasShares({ internals }: Algorithm): boolean {
  return internals?.permits?.shares !== undefined;
}

/** The permits of all keys of a store. */
export interface LeasedPermits {
  /** Opens a family whose permits are given out here. */
  open(inner: Family): Family;
  /** Whether a call of several is on a permit that is given out here. */
  isOwn(operation: Operation): boolean;
  /** Whether the permit of such a call is held here. */
  isHeld(operation: Operation): boolean;
  /** Forgets a key of a family, whose permits are then lost. */
  forget(family: Family, key: string): void;
  /** Forgets all keys. */
  clear(): void;
}

/** Makes the part of a store that gives out permits. */
export function leasedPermits(lease: PermitLease): LeasedPermits {
  const pools = sharePools(lease.ttl, lease.maxKeys);
  const own = new WeakSet<Operation["bound"]>();

  function open(inner: Family): Family {
    const shares = openShares(inner, pools, lease.units);
    const calls = permitCalls(inner, shares, pools, lease);
    // Nobody in another thread learns of a release of which the store does not learn.
    const { refundNotice: _, ...rest } = inner;
    const family: Family = {
      ...rest,
      renewalLag: shares.lag,
      bind: bindOnce((verb) => {
        const call = calls.get(verb);
        if (call === undefined) return inner.bind(verb);
        // Where states have no room for single permits, holding one has no steps.
        const { steps } = inner.bind<unknown, unknown>(
          ((verb as unknown) === hold ? renew : verb) as never,
        );
        const bound = { family, verb, steps, call } as unknown as BoundVerb<never, never>;
        if ((verb as unknown) !== peek) own.add(bound);
        return bound as never;
      }),
    };
    return family;
  }

  return {
    open,
    isOwn: ({ bound }) => own.has(bound),
    isHeld: ({ bound: { family }, key, argument }) =>
      pools.get(family.nameOf(key))?.permits.has((argument as PermitArgument).id) === true,
    forget: (family, key) => pools.delete(family.nameOf(key)),
    clear: pools.clear,
  };
}

/** The calls on permits that are answered here, by their verbs. */
function permitCalls(
  inner: Family,
  shares: OpenShares,
  pools: SharePools,
  { units: block, ttl: idleFor }: PermitLease,
): ReadonlyMap<unknown, AnyCall> {
  const { shareOf, send } = shares;
  const { capacity } = inner.spec.algorithm;

  const holdHere: PermitCall = (key, permit, now) => {
    const open = shareOf(key, now);
    const { pool } = open;
    if (pool.permits.has(permit.id)) return renewHere(key, permit, now);
    // No share is large enough, so none is taken.
    if (permit.cost > capacity) return lookHere(shares, key, permit.cost, now);
    // Keep the units for which other callers wait.
    const taken = take(open, permit, pool.wanted);
    if (taken !== undefined) return taken;
    pool.wanted += permit.cost;
    return andFinally(
      // A message that is under way does not include this call.
      () =>
        andThen<unknown, Decision>(pool.message, () => holdLater(shares, open, permit, MOST_ASKED)),
      () => pool.wanted -= permit.cost,
    );
  };

  const renewHere: PermitCall = (key, permit, now) => {
    const open = shareOf(key, now);
    if (!open.pool.permits.has(permit.id)) return inner.bind(renew).call(key, permit, now);
    return renewLater(open, permit, MOST_ASKED);
  };

  function renewLater(
    open: OpenShare,
    permit: PermitArgument,
    asks: number,
  ): MaybePromise<Decision> {
    const { pool, at } = open;
    if (open.isFresh()) return decide(open, pool.permits.has(permit.id));
    const spare = at - pool.touchedAt < idleFor ? block : 0;
    return andThen(pool.message ?? send(open, pool.used, spare), (outcome) => {
      if ("error" in outcome) throw outcome.error;
      const { decision } = outcome;
      if (decision.source === "policy") return decision;
      if (!pool.permits.has(permit.id)) return { ...decision, allowed: false };
      if (asks > 1 || open.isFresh()) return renewLater(open, permit, asks - 1);
      throw new StoreUnavailableError(
        "Cannot renew a permit as the store must answer in time",
        "no",
      );
    });
  }

  const releaseHere: PermitCall = (key, permit, now) => {
    const open = shareOf(key, now);
    const { pool, at } = open;
    const cost = pool.permits.get(permit.id);
    if (cost === undefined) return inner.bind(release).call(key, permit, now);
    pool.permits.delete(permit.id);
    pool.used -= cost;
    pool.touchedAt = at;
    const isMuch = pool.units - pool.used - pool.wanted > block;
    if (isMuch && pool.message === undefined) void send(open, 0, Math.floor(block / 2));
    else if (pool.ownTime) pools.startTimer();
    return decide(open, true);
  };

  /** A call that is answered as the store answers. */
  const asStore = (call: AnyCall): AnyCall => (...request) => {
    const answer = call(...request);
    return shares.isLater() && !isPromise(answer) ? Promise.resolve(answer) : answer;
  };
  return new Map<unknown, AnyCall>([
    [hold, asStore(holdHere)],
    [renew, asStore(renewHere)],
    [release, asStore(releaseHere)],
    [peek, (key: string, cost: number, now?: number) => lookHere(shares, key, cost, now)],
  ]);
}

function holdLater(
  shares: OpenShares,
  open: OpenShare,
  permit: PermitArgument,
  asks: number,
): MaybePromise<Decision> {
  const taken = take(open, permit, 0);
  if (taken !== undefined) return taken;
  return andThen(shares.ask(open, permit.cost), (outcome) => {
    const taken = take(open, permit, 0);
    if (taken !== undefined) return taken;
    if ("error" in outcome) throw outcome.error;
    const { decision } = outcome;
    if (decision.source === "policy") return decision;
    // The share was gone, or was renewed too long before.
    if (!open.isFresh() && asks > 1) return holdLater(shares, open, permit, asks - 1);
    const idle = open.pool.units - open.pool.used;
    return {
      ...decision,
      allowed: false,
      remaining: decision.remaining + idle,
      retryAfter: Math.max(1, decision.retryAfter),
    };
  });
}

/** Asks the store, and adds the units that nobody holds here. */
function lookHere(
  shares: OpenShares,
  key: string,
  cost: number,
  now: number | undefined,
): MaybePromise<Decision> {
  return andThen(shares.look(key, cost, now), (seen) => {
    const { units, used } = shares.shareOf(key, now).pool;
    if (units === used) return seen;
    const remaining = seen.remaining + units - used;
    if (seen.allowed || cost > remaining) return { ...seen, remaining };
    return { ...seen, allowed: true, remaining: remaining - cost, retryAfter: 0 };
  });
}

/** A call on a permit. */
type PermitCall = (
  key: string,
  permit: PermitArgument,
  now: number | undefined,
) => MaybePromise<Decision>;

/**
 * The most times that a call asks the store because the share is gone, or was renewed too long ago.
 */
const MOST_ASKED = 4;

/** A decision from the store's last answer. */
function decide({ pool, at }: OpenShare, allowed: boolean): Decision {
  const idle = pool.units - pool.used;
  const aged = ageDecision(pool.answer!, at - pool.renewedAt, (left) => left + idle);
  return { ...aged, allowed, retryAfter: 0 };
}

function take(
  open: OpenShare,
  { id, cost }: PermitArgument,
  kept: number,
): Decision | undefined {
  const { pool, at } = open;
  if (!open.isFresh()) return undefined;
  // Two calls with one id may have waited for the same answer.
  if (pool.permits.has(id)) return decide(open, true);
  if (pool.units - pool.used - kept < cost) return undefined;
  pool.permits.set(id, cost);
  pool.used += cost;
  pool.touchedAt = at;
  return decide(open, true);
}
