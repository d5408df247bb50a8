/*
 * The messages by which a process asks the store for units of a key, renews its share, and gives units
 * back. leased_permits.ts says what holds while a message is under way.
 */

import type { Decision } from "../../core/decision.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import type { Family } from "../../core/store.ts";
import { peek } from "../../core/verbs/peek.ts";
import { share, type Shared } from "../../core/verbs/share.ts";
import { agingTime } from "../aging_time.ts";
import { loseShare, type Outcome, type Pool, type SharePools } from "./share_pools.ts";

/** The share of a key, at the instant of a call. */
export interface OpenShare {
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

/** The shares of a family. */
export interface OpenShares {
  /** The most milliseconds from the renewal of a share to the renewal of a permit in it. */
  readonly lag: number;
  /** Whether the store answers by promises, from its first answer on. */
  isLater(): boolean;
  /** The share of a key at an instant. */
  shareOf(key: string, now: number | undefined): OpenShare;
  /** Sends a message with the needed units, which also renews the share. */
  send(open: OpenShare, least: number, spare: number): MaybePromise<Outcome>;
  /** Asks for units, together with all callers that wait for some. */
  ask(open: OpenShare, cost: number): MaybePromise<Outcome>;
  /** Asks the store alone. */
  look(key: string, cost: number, now: number | undefined): MaybePromise<Decision>;
}

/**
 * Opens the shares of a family.
 *
 * @param block The units that a process takes beyond its needs.
 */
export function openShares(inner: Family, pools: SharePools, block: number): OpenShares {
  const { ttl } = inner.spec.algorithm.internals!.permits!;
  const lag = renewalLag(ttl);
  const setShare = inner.bind(share).call;
  const look = inner.bind(peek).call;
  let isLater = false;

  function noteKind<Value>(answer: MaybePromise<Value>): MaybePromise<Value> {
    isLater ||= isPromise(answer);
    return answer;
  }

  function shareOf(key: string, now: number | undefined): OpenShare {
    const time = agingTime();
    const pool = pools.poolOf(inner.nameOf(key), now === undefined);
    let at = now ?? time;
    // The call began before that message was sent, or the clock was set back.
    if (at < pool.renewedAt) at = pool.renewedAt + time - pool.renewedTime;
    if (pool.number > 0 && !(at - pool.renewedAt < ttl)) loseShare(pool);
    const isFresh = () => pool.answer !== undefined && at - pool.renewedAt < lag;
    return { pool, key, now, at, time, isFresh };
  }

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

  return { lag, isLater: () => isLater, shareOf, send, ask, look };
}

/** The most milliseconds from the renewal of a share to the renewal of a permit in it. */
function renewalLag(ttl: number): number {
  return Math.max(1, Math.floor(ttl / 10));
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
