/*
 * The permits of a key: three numbers each, the id of its holder, the instant at which it expires
 * and its units, in the order in which they expire. A permit is held until that instant, but no
 * longer at it.
 *
 * A process may hold many units in one entry, its share, and change their number by numbered
 * messages. The number of the last message is in the upper bits of the third number, above the
 * units; it is 0 for a plain permit. It has 32 bits. After the largest number, messages are
 * numbered from 2 again, because 1 begins a share.
 *
 * Each write drops expired permits, and the invariant that all units together are at most the limit
 * counts expired permits, too. Otherwise a clock that steps back would revive permits whose units
 * others have taken since.
 */

import type { Share } from "../algorithm.ts";
import type { Codec } from "../codec.ts";
import { countOf } from "../arithmetic/counts.ts";

/** The permits of a key: id, expiry and units of each, one after the other. */
export type PermitList = readonly number[];

/** No permits. */
export const NO_PERMITS: PermitList = Object.freeze([]);

/** The numbers that a permit takes in the list. */
const WIDTH = 3;
/** The most units of a permit or a share. */
const MOST_UNITS = 2 ** 20;
/** The largest message number that a list can hold. */
const MOST_NUMBER = 2 ** 32 - 1;
/** After how many messages a number is used again. */
const ROUND = MOST_NUMBER - 1;
/**
 * The factor of a message number in a sum with units: the number takes the high digits, the units
 * the low ones.
 */
const NUMBERED = 2 * MOST_UNITS;

function unitsOf(counted: number): number {
  return counted < NUMBERED ? counted : counted % NUMBERED;
}

/** The share of the permit at a place. */
export function shareAt(permits: PermitList, place: number): Share {
  const counted = permits[place + 2]!;
  return { units: unitsOf(counted), number: Math.floor(counted / NUMBERED) };
}

/** A message's number as a list holds it. */
function standingNumber(number: number): number {
  return number <= MOST_NUMBER ? number : 2 + (number - 2) % ROUND;
}

/**
 * Whether a message is newer than the message that set a share. A message that is late by half a
 * round (2^31 messages) would count as new, but a share ends long before that.
 */
export function isNewer(number: number, share: Share): boolean {
  if (number === 1 || share.number === 0) return share.number === 0;
  const ahead = (standingNumber(number) - share.number + ROUND) % ROUND;
  return ahead > 0 && ahead <= ROUND / 2;
}

/** The held permits, with this share as the holder's share from now on. */
export function setShare(
  permits: PermitList,
  now: number,
  id: number,
  expires: number,
  { units, number }: Share,
): PermitList {
  const place = findPermit(permits, now, id);
  const latest = place < 0 ? expires : Math.max(expires, permits[place + 1]!);
  return keepHeld(permits, now, place, [id, latest, standingNumber(number) * NUMBERED + units]);
}

/** Units that are held. */
export function unitsHeld(permits: PermitList, now: number): number {
  let units = 0;
  for (let at = permits.length - WIDTH; at >= 0 && permits[at + 1]! > now; at -= WIDTH) {
    units += unitsOf(permits[at + 2]!);
  }
  return units;
}

/** How many permits are held. */
export function permitsHeld(permits: PermitList, now: number): number {
  return (permits.length - firstHeld(permits, now)) / WIDTH;
}

/** Where an id's permit stands; -1 if it holds none. */
export function findPermit(permits: PermitList, now: number, id: number): number {
  for (let at = permits.length - WIDTH; at >= 0 && permits[at + 1]! > now; at -= WIDTH) {
    if (permits[at] === id) return at;
  }
  return -1;
}

/** Milliseconds until at most `most` units are held. */
export function waitForUnits(permits: PermitList, now: number, most: number): number {
  let units = unitsHeld(permits, now);
  let at = firstHeld(permits, now);
  let wait = 0;
  for (; units > most; at += WIDTH) {
    units -= unitsOf(permits[at + 2]!);
    wait = permits[at + 1]! - now;
  }
  return wait;
}

/** Milliseconds until no permit is held. */
export function waitForAll(permits: PermitList, now: number): number {
  return permits.length === 0 ? 0 : Math.max(0, permits.at(-2)! - now);
}

/** The held permits and one more. */
export function addPermit(
  permits: PermitList,
  now: number,
  id: number,
  expires: number,
  units: number,
): PermitList {
  return keepHeld(permits, now, -1, [id, expires, units]);
}

/** The held permits, with a later expiry of the permit at a place. */
export function extendPermit(
  permits: PermitList,
  now: number,
  place: number,
  expires: number,
): PermitList {
  if (permits[place + 1]! >= expires) return permits;
  return keepHeld(permits, now, place, [permits[place]!, expires, permits[place + 2]!]);
}

/** The held permits, without the permit at a place. */
export function dropPermit(permits: PermitList, now: number, place: number): PermitList {
  return keepHeld(permits, now, place, NO_PERMITS);
}

/** The held permits, without the permit at a place, and with one more if it is given. */
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
 * Words: three for each permit, and one that is 0 for none. Text: `p1`, then `id@expires*units` of
 * each permit, the id in base 36; a single unit is not written. A share's units are followed by `#`
 * and its number.
 *
 * @param limit The most units of all permits.
 * @param most The most permits.
 */
export function permitCodec(limit: number, most: number): Codec<PermitList> {
  return {
    maxWords: Math.max(1, WIDTH * most),
    write(permits, words, offset) {
      if (permits.length === 0) words[offset] = 0;
      for (let index = 0; index < permits.length; index++) words[offset + index] = permits[index]!;
      return Math.max(1, permits.length);
    },
    read(words, offset, count) {
      if (count === 1 && words[offset] === 0) return NO_PERMITS;
      return checked(Array.from(words.subarray(offset, offset + count)), limit, most);
    },
    encode: encodePermits,
    decode(text) {
      if (text === "p1") return NO_PERMITS;
      if (text.slice(0, 3) !== "p1 ") return undefined;
      const permits = checked(text.slice(3).split(" ").flatMap(readPermit), limit, most);
      return permits !== undefined && encodePermits(permits) === text ? permits : undefined;
    },
  };
}

function encodePermits(permits: PermitList): string {
  let text = "p1";
  for (let at = 0; at < permits.length; at += WIDTH) {
    const { units, number } = shareAt(permits, at);
    const counted = units === 1 ? "" : `*${units}`;
    const numbered = number === 0 ? "" : `#${number}`;
    text += ` ${permits[at]!.toString(36)}@${permits[at + 1]!}${counted}${numbered}`;
  }
  return text;
}

const PERMIT_REGEXP = /^([0-9a-z]+)@(\d+)(?:\*(\d+))?(?:#(\d+))?$/;

function readPermit(text: string): readonly number[] {
  const [, id = "", expires = "", units = "1", number = "0"] = PERMIT_REGEXP.exec(text) ?? [];
  const counted = countOf(units);
  const isCounted = counted <= MOST_UNITS && countOf(number) <= MOST_NUMBER;
  return [
    parseInt(id, 36),
    countOf(expires),
    isCounted ? countOf(number) * NUMBERED + counted : NaN,
  ];
}

/** The permits, if a sequence of steps can have left them. */
function checked(
  permits: readonly number[],
  limit: number,
  most: number,
): PermitList | undefined {
  const count = permits.length / WIDTH;
  if (count === 0 || !Number.isInteger(count) || count > most) return undefined;
  let sum = 0;
  let before = 0;
  for (let at = 0; at < permits.length; at += WIDTH) {
    const [id, expires, counted] = permits.slice(at, at + WIDTH) as [number, number, number];
    const units = unitsOf(counted);
    const isPermit = Number.isSafeInteger(id) && id >= 0 && Number.isSafeInteger(expires) &&
      expires >= before && Number.isSafeInteger(counted) && counted >= 0 && units >= 1;
    sum += units;
    if (!isPermit || sum > limit) return undefined;
    before = expires;
  }
  return permits;
}
