/*
 * Receipts say which store holds their units, and only the data can tell: two clients with
 * different addresses may reach one server, and one address may lead to another server tomorrow. So
 * the name of a store is a state in the store. A verb reads the random number under one key, and
 * writes a number if the key is new. Every store can run this verb. Copying or deleting the data
 * copies or deletes the name, too, and processes that share the data find the same name.
 */

import type { Algorithm } from "../algorithm.ts";
import { wordsCodec } from "../arithmetic/numbers_codec.ts";
import type { Decision, DecisionSource } from "../decision.ts";
import { makeDecision } from "../make_decision.ts";
import type { Verb } from "../store.ts";

/** The largest valid `now`. A name is kept until then. */
const LAST_INSTANT = 2 ** 42;

/** The request for a name. */
export interface NameArgument {
  /** The name that a store without one takes: a random number of 53 bits, at least 1. */
  readonly id: number;
  /** The source that admitted the units, if it was not the limiter's own store. */
  readonly source: DecisionSource | undefined;
}

/** The name of a store. */
export interface Named {
  /** The decision, which says how long the name is kept. */
  readonly decision: Decision;
  /** The name; `undefined` if a failure policy answered. */
  readonly name: number | undefined;
}

/** The algorithm of names: its state is the name, or 0, and is never fresh again. */
export const storeName: Algorithm<number> = Object.freeze({
  name: "store-name",
  id: "store-name",
  policies: Object.freeze([{ name: "store-name", limit: 1, period: LAST_INSTANT, burst: 1 }]),
  // Even a share of this capacity, as a fallback has, can hold a name.
  capacity: Number.MAX_SAFE_INTEGER,
  initial: 0,
  step: look,
  charge: look,
  codec: wordsCodec<number>(
    1,
    (name) => [name],
    (name) => isName(name) ? name : undefined,
    (name) => `n1 ${name}`,
    (text) => {
      const name = Number(text.slice(3));
      return isName(name) && text === `n1 ${name}` ? name : undefined;
    },
  ),
});

/** Reads the name of a store. A store without a name takes the given one. */
export const nameStore: Verb<NameArgument, Named> = Object.freeze({
  name: "name",
  kind: "charge",
  units: () => 1,
  on: () => ({
    next: (state: unknown, _now: number, { id }: NameArgument) => state === 0 ? id : state,
    answer: (_state: unknown, next: unknown, now: number) => named(next, now),
    uncharged: named,
  }),
  decisionOf: ({ decision }: Named) => decision,
  answerOf: (decision: Decision, answer?: Named) => ({
    decision,
    name: decision.source === "policy" ? undefined : answer?.name,
  }),
  transition: () => undefined,
  sourceOf: ({ source }: NameArgument) => source,
});

function named(state: unknown, now: number): Named {
  const name = state as number;
  return { decision: look(name, now)[0], name: name === 0 ? undefined : name };
}

function look(state: number, now: number): readonly [Decision, number] {
  const left = state === 0 ? 0 : LAST_INSTANT - now;
  // A key in debt is the last to be evicted from a full store.
  return [makeDecision(true, 1, 0, 0, left, left, 0, state === 0 ? 0 : 1), state];
}

function isName(name: number): boolean {
  return Number.isSafeInteger(name) && name >= 0;
}
