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
import { newPermitId } from "../../core/limiter/permit_ids.ts";
import {
  andFinally,
  andThen,
  isPromise,
  type MaybePromise,
  orElse,
} from "../../core/maybe_promise.ts";
import type { BoundVerb, Family, Operation } from "../../core/store.ts";
import { hold } from "../../core/verbs/hold.ts";
import { peek } from "../../core/verbs/peek.ts";
import type { PermitArgument } from "../../core/verbs/permit_steps.ts";
import { release } from "../../core/verbs/release.ts";
import { renew } from "../../core/verbs/renew.ts";
import { share, type Shared } from "../../core/verbs/share.ts";
import type { AnyCall } from "../../core/wrap_store.ts";
import { ageDecision } from "./age_decision.ts";
import { agingTime } from "../aging_time.ts";
import { inBackground } from "./in_background.ts";

/** The options of leased permits. */
export interface PermitLease {
  /** The units that a process takes beyond its needs. */
  readonly units: number;
  /** Milliseconds for which it keeps units that nobody needs. */
  readonly ttl: number;
  /** The most keys that are kept without permits. */
  readonly maxKeys: number;
}

/** The share of a key. */
interface Pool {
  /** Whether its instants come from the process's time, and not from the caller's clock. */
  readonly ownTime: boolean;
  /** Its name in the store, and the number of its last message. */
  readonly holder: number;
  number: number;
  /** Units that may be held here, and units that are held. */
  units: number;
  used: number;
  /** Units of callers that wait for an answer. */
  wanted: number;
  /** The units of each permit. */
  readonly permits: Map<number, number>;
  /**
   * The instant at which the last answered message was sent: by the pool's clock, and by
   * the process's time. Then its answer.
   */
  renewedAt: number;
  renewedTime: number;
  answer: Decision | undefined;
  /** The message that is under way, and the look. */
  message: PromiseLike<Outcome> | undefined;
  look: PromiseLike<Outcome> | undefined;
  /** The instant at which a permit was last held or released. */
  touchedAt: number;
  /** Gives back units that nobody needs. If that fails, they expire. */
  giveBack(): void;
}

/** The outcome of a message. */
type Outcome = { readonly decision: Decision } | { readonly error: unknown };

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
export function leasedPermits({ units: block, ttl: idleFor, maxKeys }: PermitLease): LeasedPermits {
  const pools = new Map<string, Pool>();
  const own = new WeakSet<Operation["bound"]>();
  let timer: unknown;

  function poolOf(name: string, ownTime: boolean): Pool {
    const known = pools.get(name);
    if (known !== undefined && known.ownTime === ownTime) return known;
    makeRoom();
    const pool = newPool(ownTime);
    pools.set(name, pool);
    return pool;
  }

  /** Drops the oldest key without held permits. Its share expires in the store. */
  function makeRoom(): void {
    let looks = MOST_LOOKS;
    for (const [name, pool] of pools) {
      if (pools.size < maxKeys || looks-- === 0) return;
      pools.delete(name);
      if (pool.used + pool.wanted > 0) pools.set(name, pool);
    }
  }

  /** Gives units back a while after they were last needed. */
  function startTimer(): void {
    timer ??= inBackground(idleFor, () => {
      timer = undefined;
      const at = agingTime();
      for (const [name, pool] of pools) {
        if (!pool.ownTime || pool.units === pool.used) continue;
        if (at - pool.touchedAt < idleFor || pool.message !== undefined) startTimer();
        else pool.giveBack();
        if (pool.units + pool.wanted === 0) pools.delete(name);
      }
    });
  }

  function open(inner: Family): Family {
    const { algorithm } = inner.spec;
    const { ttl } = algorithm.internals!.permits!;
    const lag = renewalLag(ttl);
    const setShare = inner.bind(share).call;
    const look = inner.bind(peek).call;
    /** Whether the store answers by promises, from its first answer on. */
    let isLater = false;

    function noteKind<Value>(answer: MaybePromise<Value>): MaybePromise<Value> {
      isLater ||= isPromise(answer);
      return answer;
    }

    /** The share of a key at an instant. */
    function shareOf(key: string, now: number | undefined): OpenShare {
      const time = agingTime();
      const pool = poolOf(inner.nameOf(key), now === undefined);
      let at = now ?? time;
      // The call began before that message was sent, or the clock was set back.
      if (at < pool.renewedAt) at = pool.renewedAt + time - pool.renewedTime;
      if (pool.number > 0 && !(at - pool.renewedAt < ttl)) loseShare(pool);
      const isFresh = () => pool.answer !== undefined && at - pool.renewedAt < lag;
      return { pool, key, now, at, time, isFresh };
    }

    /** Sends a message with the needed units, which also renews the share. */
    function send(
      { pool, key, now, at, time }: OpenShare,
      least: number,
      spare: number,
    ): MaybePromise<Outcome> {
      const { holder } = pool;
      const units = pool.used + pool.wanted + spare;
      const message = { id: holder, number: ++pool.number, units, least };
      if (pool.number === 1) Object.assign(pool, { renewedAt: at, renewedTime: time });
      pool.units = Math.min(pool.units, units);
      pool.giveBack = () => void send(shareOf(key, undefined), 0, 0);
      return underWay(
        pool,
        "message",
        () =>
          andThen(noteKind(setShare(key, message, now)), (answer) => {
            if (pool.holder === holder) noteAnswer(pool, answer, at, time);
            return answer.decision;
          }),
      );
    }

    /** Asks for units, together with all callers that wait for some. */
    function ask(open: OpenShare, cost: number): MaybePromise<Outcome> {
      const { pool, key, now } = open;
      if (pool.message !== undefined) return pool.message;
      const least = pool.used + cost;
      const isUsedUp = open.isFresh() && pool.answer!.remaining === 0;
      if (pool.look === undefined && !isUsedUp) return send(open, least, block);
      // The store had nothing left. If that is still so, the refused call must not write.
      const looked = pool.look ??
        underWay(pool, "look", () => look(key, least - pool.units, now));
      return andThen(looked, (outcome) => {
        if ("error" in outcome) return outcome;
        const { allowed, remaining } = outcome.decision;
        return allowed || remaining > 0 ? pool.message ?? send(open, least, block) : outcome;
      });
    }

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

    const holdHere: PermitCall = (key, permit, now) => {
      const open = shareOf(key, now);
      const { pool } = open;
      if (pool.permits.has(permit.id)) return renewHere(key, permit, now);
      // No share is large enough, so none is taken.
      if (permit.cost > algorithm.capacity) return lookHere(key, permit.cost, now);
      // Keep the units for which other callers wait.
      const taken = take(open, permit, pool.wanted);
      if (taken !== undefined) return taken;
      pool.wanted += permit.cost;
      return andFinally(
        // A message that is under way does not include this call.
        () => andThen<unknown, Decision>(pool.message, () => holdLater(open, permit, MOST_ASKED)),
        () => pool.wanted -= permit.cost,
      );
    };

    function holdLater(
      open: OpenShare,
      permit: PermitArgument,
      asks: number,
    ): MaybePromise<Decision> {
      const taken = take(open, permit, 0);
      if (taken !== undefined) return taken;
      return andThen(ask(open, permit.cost), (outcome) => {
        const taken = take(open, permit, 0);
        if (taken !== undefined) return taken;
        if ("error" in outcome) throw outcome.error;
        const { decision } = outcome;
        if (decision.source === "policy") return decision;
        // The share was gone, or was renewed too long before.
        if (!open.isFresh() && asks > 1) return holdLater(open, permit, asks - 1);
        const idle = open.pool.units - open.pool.used;
        return {
          ...decision,
          allowed: false,
          remaining: decision.remaining + idle,
          retryAfter: Math.max(1, decision.retryAfter),
        };
      });
    }

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
      else if (pool.ownTime) startTimer();
      return decide(open, true);
    };

    function lookHere(
      key: string,
      cost: number,
      now: number | undefined,
    ): MaybePromise<Decision> {
      return andThen(look(key, cost, now), (seen) => {
        const { units, used } = shareOf(key, now).pool;
        if (units === used) return seen;
        const remaining = seen.remaining + units - used;
        if (seen.allowed || cost > remaining) return { ...seen, remaining };
        return { ...seen, allowed: true, remaining: remaining - cost, retryAfter: 0 };
      });
    }

    /** A call that is answered as the store answers. */
    const asStore = (call: AnyCall): AnyCall => (...request) => {
      const answer = call(...request);
      return isLater && !isPromise(answer) ? Promise.resolve(answer) : answer;
    };
    const calls = new Map<unknown, AnyCall>([
      [hold, asStore(holdHere)],
      [renew, asStore(renewHere)],
      [release, asStore(releaseHere)],
      [peek, lookHere],
    ]);
    // Nobody in another thread learns of a release of which the store does not learn.
    const { refundNotice: _, ...rest } = inner;
    const family: Family = {
      ...rest,
      renewalLag: lag,
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
    forget: (family, key) => void pools.delete(family.nameOf(key)),
    clear: () => pools.clear(),
  };
}

/** A call on a permit. */
type PermitCall = (
  key: string,
  permit: PermitArgument,
  now: number | undefined,
) => MaybePromise<Decision>;

/** The share of a key, at the instant of a call. */
interface OpenShare {
  readonly pool: Pool;
  readonly key: string;
  /** The limiter's instant, and the instant by which shares are kept. */
  readonly now: number | undefined;
  readonly at: number;
  /** The same instant by the process's time. */
  readonly time: number;
  /** Whether the store has answered a message recently, so that permits may be given out. */
  isFresh(): boolean;
}

/** The most keys to examine when one must be dropped. */
const MOST_LOOKS = 16;
/**
 * The most times that a call asks the store because the share is gone, or was renewed too long ago.
 */
const MOST_ASKED = 4;

/** The most milliseconds from the renewal of a share to the renewal of a permit in it. */
function renewalLag(ttl: number): number {
  return Math.max(1, Math.floor(ttl / 10));
}

function newPool(ownTime: boolean): Pool {
  return {
    ownTime,
    holder: newPermitId(),
    number: 0,
    units: 0,
    used: 0,
    wanted: 0,
    permits: new Map(),
    renewedAt: 0,
    renewedTime: 0,
    answer: undefined,
    message: undefined,
    look: undefined,
    touchedAt: -Infinity,
    giveBack: () => {},
  };
}

/** Loses all permits. The next message begins another share. */
function loseShare(pool: Pool): void {
  const { ownTime, wanted } = pool;
  Object.assign(pool, newPool(ownTime), { wanted });
}

/** Notes the store's answer about a share. */
function noteAnswer(
  pool: Pool,
  { decision, units }: Shared,
  sentAt: number,
  sentTime: number,
): void {
  if (decision.source === "policy") return;
  if (units === undefined) return loseShare(pool);
  pool.units = units;
  pool.renewedAt = sentAt;
  pool.renewedTime = sentTime;
  pool.answer = decision;
}

/** Runs a call to the store. Later calls wait for its answer while it is under way. */
function underWay(
  pool: Pool,
  kind: "message" | "look",
  call: () => MaybePromise<Decision>,
): MaybePromise<Outcome> {
  const outcome = orElse<Outcome>(
    () => andThen(call(), (decision) => ({ decision })),
    (error) => ({ error }),
  );
  if (!isPromise(outcome)) return outcome;
  const pending = outcome.then((it) => {
    if (pool[kind] === pending) pool[kind] = undefined;
    return it;
  });
  return pool[kind] = pending;
}
