/*
 * Takes units as `consume` does, and answers with a mark by which the units are found again. The
 * receipt is made from that mark. With a time to live, the key's state remembers the receipt, and
 * gives the units back when its time is over.
 */

import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { hasRoom, withOpen } from "../receipts/noted.ts";
import type { Receipts } from "../receipts/returns.ts";
import type { Verb } from "../store.ts";

/** The request of a reservation. */
export interface ReserveArgument {
  /** Units to take. */
  readonly cost: number;
  /**
   * The receipt's id; 0 if only this process gives the units back, at most once, so that the key need
   * not remember it.
   */
  readonly id: number;
  /** Milliseconds until the units are given back unless the receipt is settled; 0 for never. */
  readonly ttl: number;
}

/** Finds the units of a call again. */
export interface Mark {
  /** The instant of the call. */
  readonly at: number;
  /** The instant from which none of the units can be given back any more. */
  readonly until: number;
  /** Whether the units come back at `until`. */
  readonly expires: boolean;
  /** The numbers by which the algorithm finds the units. */
  readonly marks: readonly number[];
}

/** The answer to a reservation. */
export interface Reserved {
  /** The decision. */
  readonly decision: Decision;
  /**
   * Finds the units again; `undefined` if none were taken, a failure policy answered, or the algorithm
   * cannot give units back.
   */
  readonly mark: Mark | undefined;
}

/** Takes units if they are free, and answers with the mark by which they are found again. */
export const reserve: Verb<ReserveArgument, Reserved> = reserving("take");

/**
 * Takes units with a time to live. If the key already remembers as many receipts as it can, or its
 * algorithm cannot give units back, the units are charged without a time to live.
 */
export const reserveFor: Verb<ReserveArgument, Reserved> = reserving(undefined);

function reserving(
  transition: "take" | undefined,
): Verb<ReserveArgument, Reserved> {
  return Object.freeze({
    name: "reserve",
    kind: "take",
    units: ({ cost }: ReserveArgument) => cost,
    on(algorithm: Algorithm) {
      requireNoPermits("reserve", algorithm);
      const { take, decide } = splitReducer(algorithm);
      const receipts = algorithm.internals?.receipts;
      const remembers = transition === undefined && receipts !== undefined;
      const markOf = marking(algorithm);
      return {
        next(state: unknown, now: number, argument: ReserveArgument) {
          const next = take(state, now, argument.cost);
          return remembers && next !== state ? remembered(receipts, next, now, argument) : next;
        },
        answer(state: unknown, next: unknown, now: number, { cost, id, ttl }: ReserveArgument) {
          const decision = decide(state, next, now, cost);
          if (!decision.allowed || next === state) return { decision, mark: undefined };
          const mark = markOf(next, now);
          if (mark === undefined || !remembers) return { decision, mark };
          const until = now + ttl;
          const expires = receipts.entries(next).open.some((entry) =>
            entry.id === id && entry.until === until
          );
          return { decision, mark: expires ? { ...mark, until, expires } : mark };
        },
        ...(transition === "take" && {
          answerTo: (decision: Decision, next: unknown, now: number): Reserved => ({
            decision,
            mark: decision.allowed ? markOf(next, now) : undefined,
          }),
        }),
        uncharged: (state: unknown, now: number): Reserved => ({
          decision: decide(state, state, now, 0),
          mark: undefined,
        }),
      };
    },
    decisionOf: ({ decision }: Reserved) => decision,
    answerOf: (decision: Decision, answer?: Reserved) => ({
      decision,
      mark: decision.source === "policy" ? undefined : answer?.mark,
    }),
    transition: () => transition,
  });
}

/**
 * Makes the function that finds the units of an earlier call in a state; `undefined` for an
 * algorithm that cannot give them back.
 */
export function marking(
  { internals }: Algorithm,
): (next: unknown, now: number) => Mark | undefined {
  const receipts = internals?.receipts;
  if (receipts === undefined) return () => undefined;
  return (next, now) => ({
    at: now,
    until: now + receipts.lasts(next, now),
    expires: false,
    marks: receipts.mark(next),
  });
}

/** The state that remembers the receipt of the call that left it, if it can. */
function remembered(
  receipts: Receipts,
  next: unknown,
  now: number,
  { cost, id, ttl }: ReserveArgument,
): unknown {
  const settled = receipts.settled(next, now);
  const entries = receipts.entries(settled);
  if (!hasRoom(entries)) return next;
  const entry = { id, until: now + ttl, units: cost, marks: receipts.mark(settled) };
  return receipts.remember(settled, withOpen(entries, -1, entry), now);
}
