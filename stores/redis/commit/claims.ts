/*
 * Claims. A caller that has lost races for a key claims the key, and other processes leave it alone
 * for a moment.
 *
 * Without claims, the process nearest to Redis would win every race for a busy key, and a distant
 * one would never get through. A caller that has lost a few races appends a claim to the value. The
 * claim says until when it holds, by the server's clock, and which store made it. Other stores
 * leave the key alone until the claimer has written it or that instant has passed. Several claims
 * count in the order in which they were appended:
 *
 *   t1 1795222155956 1795222150031.k3x9a0! 1795222150040.p81kq2!
 *
 * The last character of a value shows whether it has a claim. compare_and_set.ts does the same inside
 * the server.
 */

import { type Job, waitsSince } from "../../optimistic/job.ts";
import { performance } from "../../own_timers.ts";

/** The text of a value, without and with its claims. */
export interface ClaimedText {
  /** The text of the state; `undefined` for none. */
  readonly text: string | undefined;
  /** The claims behind it, each preceded by a space; usually an empty text. */
  readonly claims: string;
}

/**
 * A call claims its keys once it has lost `MANY_LOSSES` races in at least `MIN_WAIT` milliseconds, or
 * `FEW_LOSSES` if half of its time is over. Processes that are equally near each lose a race now and
 * then; if each loss made a claim, they would keep each other waiting, and a decision by `watch` on
 * contended keys would cost the client twice as much.
 */
const MANY_LOSSES = 8;
const FEW_LOSSES = 2;
const MIN_WAIT = 10;
/** The shortest round trip, in milliseconds, for which a store claims a contended key at once. */
const DISTANT = 1;
/** How many calls claim a contended key at once, and how many contended keys are remembered. */
const CLAIMED_BATCHES = 16;
const MAX_CONTENDED = 1_000;
/** A claim holds for three round trips and this many milliseconds, but at most `MAX_LIFE`. */
const BASE_LIFE = 20;
const MAX_LIFE = 250;

/** The code of the character that a claim ends with; no state's text ends with it. */
const END = 33;
const CLAIMS_REGEXP = /(?: \d+\.[0-9a-z]+!)+$/;

/** The name by which a store signs its claims. */
export function claimOwner(): string {
  return Math.random().toString(36).slice(2, 10);
}

/** A claim as text, with the space that separates it from a state's text. */
export function claimText(until: number, owner: string): string {
  return ` ${until}.${owner}!`;
}

/** Separates a value's state from its claims. */
export function partClaims(value: string | undefined): ClaimedText {
  if (value === undefined || value.charCodeAt(value.length - 1) !== END) {
    return { text: value, claims: "" };
  }
  const at = value.search(CLAIMS_REGEXP);
  if (at === -1) return { text: value, claims: "" };
  return { text: value.slice(0, at) || undefined, claims: value.slice(at) };
}

/** Whether another store may write first: the first claim that still holds is not this owner's. */
export function isClaimed(claims: string, owner: string, now: number): boolean {
  if (claims === "") return false;
  const first = listOf(claims).find(({ until }) => until > now);
  return first !== undefined && first.owner !== owner;
}

/** The claims of others, which remain once the owner has written. */
export function claimsOfOthers(claims: string, owner: string, now: number): string {
  if (claims === "") return "";
  const left = listOf(claims).filter((each) => each.until > now && each.owner !== owner);
  return left.map((each) => claimText(each.until, each.owner)).join("");
}

/** The contended keys of a store. */
export interface ContendedKeys {
  /** The instant until which calls have claimed their keys, by the server's clock. */
  readonly claimedUntil: WeakMap<Job, number>;
  /** Whether a call should claim its key: the call is starving, or the key is contended. */
  mustClaim(job: Job): boolean;
}

/**
 * Remembers contended keys: those that a store has claimed recently. Its next calls claim them at
 * once.
 *
 * @param roundTrip Milliseconds that a round trip takes at least.
 * @param timeout Milliseconds that a call may take.
 */
export function contendedKeys(roundTrip: () => number, timeout: number): ContendedKeys {
  function isStarving(job: Job): boolean {
    const { races } = job;
    if (races < FEW_LOSSES) return false;
    const waited = performance.now() - waitsSince(job);
    return races >= MANY_LOSSES ? waited >= MIN_WAIT : waited >= timeout / 2;
  }

  const left = new Map<string, number>();
  return {
    claimedUntil: new WeakMap(),
    mustClaim(job) {
      const starves = isStarving(job);
      if (!starves && left.size === 0) return false;
      const key = job.cell!.name;
      if (starves) {
        // A process near the server soon wins again without a claim.
        if (roundTrip() >= DISTANT) {
          if (left.size === MAX_CONTENDED) left.clear();
          left.set(key, CLAIMED_BATCHES);
        }
        return true;
      }
      const count = left.get(key);
      if (count === undefined) return false;
      if (count === 1) left.delete(key);
      else left.set(key, count - 1);
      return true;
    },
  };
}

/**
 * How long a claim holds, in milliseconds.
 *
 * @param roundTrip Milliseconds that a round trip takes.
 */
export function claimLife(roundTrip: number): number {
  return Math.ceil(Math.min(BASE_LIFE + 3 * roundTrip, MAX_LIFE));
}

function listOf(claims: string): readonly { readonly until: number; readonly owner: string }[] {
  return claims.slice(1, -1).split("! ").map((claim) => {
    const dot = claim.indexOf(".");
    return { until: Number(claim.slice(0, dot)), owner: claim.slice(dot + 1) };
  });
}
