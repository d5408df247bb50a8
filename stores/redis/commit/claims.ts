/*
 * Claims, by which a caller that has lost races for a key makes the others leave it alone for a moment.
 *
 * The process nearest to Redis wins every race, so a distant process that shares a busy key would never
 * get through. A caller that has lost a few times appends a claim to the value: until when it holds,
 * by the server's clock, and whose it is. The others leave the key alone until the claimer has written
 * or that instant has passed. Several claims count in the order in which they came:
 *
 *   t1 1795222155956 1795222150031.k3x9a0! 1795222150040.p81kq2!
 *
 * A value without claims costs no more than a look at its last character. compare_and_set.ts does the
 * same inside the server.
 */

import type { Job } from "../../optimistic/job.ts";

/** The text of a value, without and with its claims. */
export interface ClaimedText {
  /** The text of the state; `undefined` for none. */
  readonly text: string | undefined;
  /** The claims behind it, each with a space before it; most often an empty text. */
  readonly claims: string;
}

/** How many races a call must lose, and how many milliseconds must pass, before it claims its keys. */
const MIN_LOSSES = 2;
const MIN_WAIT = 10;
/** Milliseconds of a round trip from which on a store claims at once what it had to claim before. */
const DISTANT = 1;
/** How many calls on such a key claim it at once, and how many such keys are remembered. */
const CLAIMED_BATCHES = 16;
const MAX_CONTENDED = 1_000;
/** Milliseconds that a claim holds beyond three round trips, and the most. */
const BASE_LIFE = 20;
const MAX_LIFE = 250;

/** The code of the character that a claim ends with; no state's text ends with it. */
const END = 33;
const CLAIMS_REGEXP = /(?: \d+\.[0-9a-z]+!)+$/;

/** The name by which a store signs its claims. */
export function claimOwner(): string {
  return Math.random().toString(36).slice(2, 10);
}

/** A claim, as it stands behind the text of a state. */
export function claimText(until: number, owner: string): string {
  return ` ${until}.${owner}!`;
}

/** Parts the claims from a value. */
export function partClaims(value: string | undefined): ClaimedText {
  if (value === undefined || value.charCodeAt(value.length - 1) !== END) {
    return { text: value, claims: "" };
  }
  const at = value.search(CLAIMS_REGEXP);
  if (at === -1) return { text: value, claims: "" };
  return { text: value.slice(0, at) || undefined, claims: value.slice(at) };
}

/** Whether somebody else may write first: the first claim that still holds is not the owner's. */
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

/** Keys that a store has claimed of late: its next batches claim them at once. */
export interface ContendedKeys {
  /** Whether a call is to claim its key: it has lost races for long enough, or the key is contended. */
  mustClaim(call: Job): boolean;
  /** Until when calls have claimed their keys, by the server's clock. */
  readonly claimedUntil: WeakMap<Job, number>;
}

/**
 * Remembers contended keys.
 *
 * @param roundTrip Milliseconds that a round trip takes at least.
 */
export function contendedKeys(roundTrip: () => number): ContendedKeys {
  const left = new Map<string, number>();
  return {
    claimedUntil: new WeakMap(),
    mustClaim(job) {
      const { races, since } = job;
      const key = job.cell!.name;
      if (races >= MIN_LOSSES && performance.now() - since >= MIN_WAIT) {
        // A process that is near wins again soon enough without a claim.
        if (roundTrip() >= DISTANT) {
          if (left.size === MAX_CONTENDED) left.clear();
          left.set(key, CLAIMED_BATCHES);
        }
        return true;
      }
      if (left.size === 0) return false;
      const count = left.get(key);
      if (count === undefined) return false;
      if (count === 1) left.delete(key);
      else left.set(key, count - 1);
      return true;
    },
  };
}

/**
 * How long a claim is to hold, in ms.
 *
 * @param roundTrip Milliseconds that one takes.
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
