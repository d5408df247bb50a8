/*
 * The holder's side of a permit: renewed three times in its time to live, until it is released or
 * lost, or `maxHold` has passed. The holder counts its time from before each call is sent, so the
 * store never drops a permit before its holder learns that it is lost.
 */

import type { Algorithm } from "../algorithm.ts";
import { leavesOf } from "../algorithms/leaves_of.ts";
import type { Decision } from "../decision.ts";
import { andThen, type MaybePromise, orElse } from "../maybe_promise.ts";
import { tryAgain } from "../together/try_again.ts";
import { release } from "../verbs/release.ts";
import { renew } from "../verbs/renew.ts";
import type { PermitArgument, PermitVerb } from "../verbs/permit_steps.ts";
import type { Permit } from "./permit.ts";
import type { Renewals, Renewed } from "./renewals.ts";

/** How long permits of an algorithm are held. */
export interface PermitTimes {
  /** Milliseconds that a permit lasts without renewal. */
  readonly ttl: number;
  /** Milliseconds that a permit lasts at most, with renewals. */
  readonly maxHold: number;
}

/**
 * The times of an algorithm's permits; for an `all`, the shortest of the parts' times.
 *
 * @param lag Milliseconds that may lie between the renewal of a permit and the answer to its
 * holder.
 */
export function permitTimes(algorithm: Algorithm, lag: number = 0): PermitTimes {
  const permits = leavesOf(algorithm).flatMap(({ internals }) => internals?.permits ?? []);
  return {
    ttl: Math.min(...permits.map(({ ttl }) => ttl)) - lag,
    maxHold: Math.min(...permits.map(({ maxHold }) => maxHold)),
  };
}

/** Runs verbs on the keys of a limiter. */
export interface CallHost {
  call(verb: PermitVerb, key: string, argument: PermitArgument): MaybePromise<Decision>;
}

/** A permit as the store has it. */
export interface StoredPermit extends PermitArgument {
  /** The key whose units it holds. */
  readonly key: string;
}

/** A permit that the store has given. */
export interface GivenPermit extends StoredPermit {
  readonly host: CallHost;
  readonly renewals: Renewals;
  readonly times: PermitTimes;
  /** When it was asked for, by the passing time of the limiter's clock. */
  readonly sentAt: number;
  readonly decision: Decision;
}

/**
 * Releases a permit; answers whether it was held. It never fails: if the store cannot answer, it is
 * tried again later, and a permit that is not released expires.
 */
export function releasePermit(
  host: CallHost,
  { key, id, cost }: StoredPermit,
): MaybePromise<boolean> {
  const giving = {
    call: () => host.call(release, key, { id, cost }),
    decisionOf: release.decisionOf,
    isRepeatable: true,
  };
  return orElse(
    () => andThen(tryAgain(giving), ({ allowed, source }) => allowed && source !== "policy"),
    () => false,
  );
}

/** Renews a permit that was given, until it is released. */
export function openPermit(given: GivenPermit): Permit {
  const { host, renewals, times: { ttl, maxHold }, key, id, cost, sentAt, decision } = given;
  const interval = Math.max(1, ttl / 3);
  const endsAt = sentAt + maxHold;
  // If a failure policy answered, there is no permit to renew.
  const isRenewed = decision.source !== "policy";
  let heldUntil = isRenewed ? sentAt + ttl : Infinity;
  let controller: AbortController | undefined;
  let loss: Error | undefined;
  /** Whether it was held when it was given back; `undefined` until then. */
  let released: MaybePromise<boolean> | undefined;

  const renewed: Renewed = {
    deadline: isRenewed ? Math.min(sentAt + interval, endsAt) : endsAt,
    isHeld: true,
    renew(now) {
      if (now >= endsAt) return lose(`it was held for ${maxHold} ms, which is maxHold`);
      if (now >= heldUntil) return lose(`the store has not renewed it for ${ttl} ms`);
      void orElse<void>(
        () => andThen(host.call(renew, key, { id, cost }), (it) => settle(it, now)),
        () => {},
      );
      renewed.deadline = Math.min(now + interval, heldUntil, endsAt);
    },
  };

  function settle({ allowed, source }: Decision, renewedAt: number): void {
    if (!renewed.isHeld) return;
    if (allowed) heldUntil = Math.max(heldUntil, renewedAt + ttl);
    else if (source !== "policy") lose("the store no longer holds it");
  }

  function lose(why: string): void {
    renewals.drop(renewed);
    loss = lostError(key, why);
    // The store may still hold the permit. Releasing it spares other callers the wait for its
    // expiry.
    released = releasePermit(host, given);
    controller?.abort(loss);
  }

  function release(): MaybePromise<boolean> {
    if (released !== undefined) return andThen(released, () => false);
    renewals.drop(renewed);
    return released = releasePermit(host, given);
  }

  renewals.add(renewed);
  return {
    id,
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        if (loss !== undefined) controller.abort(loss);
      }
      return controller.signal;
    },
    release: release as Permit["release"],
    ...disposing(release),
  };
}

/** Releases at the end of a block. */
export function disposing(release: () => unknown): Pick<Permit, symbol & keyof Permit> {
  return {
    [Symbol.dispose]: () => void release(),
    [Symbol.asyncDispose]: async () => void await release(),
  };
}

/** Why a permit's signal is aborted. */
function lostError(key: string, why: string): Error {
  const error = new Error(`The permit of ${JSON.stringify(key)} is lost: ${why}`);
  error.name = "PermitLostError";
  return error;
}
