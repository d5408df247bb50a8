/*
 * Finds the clients that no sane limit would admit. The busiest clients of a log are ordinary, or
 * they are attackers who need many times as much; a limit that admits attackers admits everything.
 *
 * Two signs set a client apart:
 *
 * - A pace. A program that keeps up a steady pace is compared with the busiest of all others.
 * - A gap. Needs of ordinary clients decrease gradually from one client to the next, so a gap among
 *   the few busiest ones sets apart those above it. The innermost gap counts, because a large attacker
 *   must not hide smaller ones.
 *
 * Within ten seconds ordinary clients differ little, because one click causes as many requests for
 * everybody. So a gap of two is enough there. Over an hour, an office needs several times as much as
 * a person.
 */

import type { ClientNeeds } from "./client_needs.ts";

/** How many times the busiest other client a steady one needs; among few clients, how many. */
const ABOVE_OTHERS = 1.5;
const ABOVE_FEW = 10;
/** How wide a gap is, by the span in which it shows. */
function gapWithin(span: number): number {
  return span <= 10_000 ? 2 : span <= 600_000 ? 4 : 5;
}
/** Among fewer clients a gap says nothing: the largest customer of a few often needs many times as much. */
const MIN_CLIENTS = 20;
/** Among fewer clients, a steady pace says nothing either. */
const FEWEST_CLIENTS = 8;
/** A smaller need says nothing. */
const MIN_NEED = 10;
/** Above which of the clients a gap is looked for: so many, or this share. */
const DEEPEST = 8;
const DEEPEST_SHARE = 0.05;

/** Facts about clients that are known beforehand. */
export interface KnownClients {
  /** Clients that are ordinary: 1, else 0. */
  readonly ordinary: Uint8Array;
  /** Clients that are set aside. */
  readonly apart: Uint8Array;
  /**
   * The need that every client is granted; clients that need nothing are then clients like others.
   */
  readonly least?: number | undefined;
}

/** Says of each client whether it is set aside: 1, else 0. */
export function setAside(
  { spans, most, units, steady }: ClientNeeds,
  { ordinary, apart: known, least = 0 }: KnownClients,
): Uint8Array {
  const apart = known.slice();
  const others: number[] = [];
  for (let client = 0; client < units.length; client++) {
    const counts = least > 0 || units[client]! > 0;
    if (counts && ordinary[client] === 0 && known[client] === 0) others.push(client);
  }
  if (others.length < FEWEST_CLIENTS) return apart;
  const areFew = others.length < MIN_CLIENTS;
  const unsteady = others.filter((client) => steady[client] === 0);
  most.forEach((needs, index) => {
    const order = Float64Array.from(unsteady, (client) => needs[client]!).sort().reverse();
    const cut = areFew ? Infinity : cutAt(order, gapWithin(spans[index]!), least);
    for (const client of unsteady) {
      if (needs[client]! >= cut) apart[client] = 1;
    }
  });
  const bounds = most.map((needs) => {
    let bound = least;
    for (let client = 0; client < needs.length; client++) {
      const isOther = apart[client] === 0 && (steady[client] === 0 || ordinary[client] === 1);
      if (isOther) bound = Math.max(bound, needs[client]!);
    }
    return bound;
  });
  const times = areFew ? ABOVE_FEW : ABOVE_OTHERS;
  for (const client of others) {
    if (steady[client] === 0) continue;
    const isAbove = most.some((needs, span) =>
      needs[client]! >= MIN_NEED && needs[client]! >= times * bounds[span]!
    );
    if (isAbove) apart[client] = 1;
  }
  return apart;
}

/** The least need above the innermost gap of this ratio; `Infinity` without such a gap. */
function cutAt(order: Float64Array, ratio: number, least: number): number {
  const deepest = Math.min(
    order.length - 1,
    Math.max(DEEPEST, Math.floor(order.length * DEEPEST_SHARE)),
  );
  for (let rank = deepest; rank >= 1; rank--) {
    const above = order[rank - 1]!;
    if (above >= MIN_NEED && above >= ratio * Math.max(least, order[rank]!)) return above;
  }
  return Infinity;
}
