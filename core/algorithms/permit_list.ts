/*
 * The permits of a key: three numbers each, the id of its holder, the instant at which it expires and
 * its units, in the order in which they expire. A permit is held until, and not at, that instant.
 *
 * Expired permits count in the invariant that all units together are at most the limit, and whatever
 * writes drops them: a clock that steps back would otherwise revive them beside those that took their
 * place.
 */

import type { Codec } from "../codec.ts";
import { countOf } from "../arithmetic/counts.ts";

/** The permits of a key: id, expiry and units of each, one after the other. */
export type PermitList = readonly number[];

/** No permits. */
export const NO_PERMITS: PermitList = Object.freeze([]);

/** Numbers of a permit. */
const WIDTH = 3;

/** Units that are held. */
export function unitsHeld(permits: PermitList, now: number): number {
  let units = 0;
  for (let at = permits.length - WIDTH; at >= 0 && permits[at + 1]! > now; at -= WIDTH) {
    units += permits[at + 2]!;
  }
  return units;
}

/** Where an id's permit stands; -1 if it holds none. */
export function findPermit(permits: PermitList, now: number, id: number): number {
  for (let at = permits.length - WIDTH; at >= 0 && permits[at + 1]! > now; at -= WIDTH) {
    if (permits[at] === id) return at;
  }
  return -1;
}

/** Milliseconds until at most so many units are held. */
export function waitForUnits(permits: PermitList, now: number, most: number): number {
  let units = unitsHeld(permits, now);
  let at = firstHeld(permits, now);
  let wait = 0;
  for (; units > most; at += WIDTH) {
    units -= permits[at + 2]!;
    wait = permits[at + 1]! - now;
  }
  return wait;
}

/** Milliseconds until no permit is held. */
export function waitForAll(permits: PermitList, now: number): number {
  return permits.length === 0 ? 0 : Math.max(0, permits.at(-2)! - now);
}

/** The permits that are held, and one more. */
export function addPermit(
  permits: PermitList,
  now: number,
  id: number,
  expires: number,
  units: number,
): PermitList {
  return keepHeld(permits, now, -1, [id, expires, units]);
}

/** The permits that are held, of which the one at a place expires later. */
export function extendPermit(
  permits: PermitList,
  now: number,
  place: number,
  expires: number,
): PermitList {
  if (permits[place + 1]! >= expires) return permits;
  return keepHeld(permits, now, place, [permits[place]!, expires, permits[place + 2]!]);
}

/** The permits that are held, without the one at a place. */
export function dropPermit(permits: PermitList, now: number, place: number): PermitList {
  return keepHeld(permits, now, place, NO_PERMITS);
}

/** The permits that are held, without the one at a place, and with one more if it is given. */
function keepHeld(
  permits: PermitList,
  now: number,
  without: number,
  added: PermitList,
): PermitList {
  const kept: number[] = [];
  let left = added;
  for (let at = firstHeld(permits, now); at < permits.length; at += WIDTH) {
    if (at === without) continue;
    if (left.length > 0 && permits[at + 1]! > left[1]!) {
      kept.push(...left);
      left = NO_PERMITS;
    }
    kept.push(permits[at]!, permits[at + 1]!, permits[at + 2]!);
  }
  kept.push(...left);
  return kept.length === 0 ? NO_PERMITS : kept;
}

function firstHeld(permits: PermitList, now: number): number {
  let at = 0;
  while (at < permits.length && permits[at + 1]! <= now) at += WIDTH;
  return at;
}

/**
 * Words: three for each permit, and one that is 0 for none. Text: `p1`, then `id@expires*units` of each
 * permit, the id to the base 36; one unit is not written.
 */
export function permitCodec(limit: number): Codec<PermitList> {
  return {
    maxWords: Math.max(1, WIDTH * limit),
    write(permits, words, offset) {
      if (permits.length === 0) words[offset] = 0;
      for (let index = 0; index < permits.length; index++) words[offset + index] = permits[index]!;
      return Math.max(1, permits.length);
    },
    read(words, offset, count) {
      if (count === 1 && words[offset] === 0) return NO_PERMITS;
      return checked(Array.from(words.subarray(offset, offset + count)), limit);
    },
    encode: encodePermits,
    decode(text) {
      if (text === "p1") return NO_PERMITS;
      if (text.slice(0, 3) !== "p1 ") return undefined;
      const permits = checked(text.slice(3).split(" ").flatMap(readPermit), limit);
      return permits !== undefined && encodePermits(permits) === text ? permits : undefined;
    },
  };
}

function encodePermits(permits: PermitList): string {
  let text = "p1";
  for (let at = 0; at < permits.length; at += WIDTH) {
    const units = permits[at + 2]!;
    text += ` ${permits[at]!.toString(36)}@${permits[at + 1]!}${units === 1 ? "" : `*${units}`}`;
  }
  return text;
}

function readPermit(text: string): readonly number[] {
  const at = text.indexOf("@");
  const star = text.indexOf("*", at);
  const expires = text.slice(at + 1, star < 0 ? text.length : star);
  const units = star < 0 ? 1 : countOf(text.slice(star + 1));
  return [parseInt(text.slice(0, Math.max(0, at)), 36), countOf(expires), units];
}

/** The permits, if some steps can have left them. */
function checked(permits: readonly number[], limit: number): PermitList | undefined {
  if (permits.length === 0 || permits.length % WIDTH !== 0) return undefined;
  let sum = 0;
  let before = 0;
  for (let at = 0; at < permits.length; at += WIDTH) {
    const [id, expires, units] = permits.slice(at, at + WIDTH) as [number, number, number];
    const isPermit = Number.isSafeInteger(id) && id >= 0 && Number.isSafeInteger(expires) &&
      expires >= before && Number.isSafeInteger(units) && units >= 1;
    sum += units;
    if (!isPermit || sum > limit) return undefined;
    before = expires;
  }
  return permits;
}
