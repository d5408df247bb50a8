/*
 * The kernel of every decision about several keys: the units of all of them are taken, or none are.
 * `consumeAll`, the limits of an HTTP request and the rules of an engine decide by it.
 *
 * One `run` of the store takes all of them at one instant. In a cluster, keys of several slots are
 * taken one slot after the other. The slots are looked at first, so that a request that one of them
 * refuses again and again does not write to the others.
 */

import { isPromise, orElse } from "../maybe_promise.ts";
import type { Store } from "../store.ts";
import { peek } from "../verbs/peek.ts";
import { type Ask, decisionIn } from "./ask.ts";
import { answerRest, takeInTurn } from "./take_in_turn.ts";
import { undoOf } from "./undo.ts";

/** The answers to asks, in order. */
export type Answers = readonly unknown[] | Promise<readonly unknown[]>;

/**
 * Takes what is asked for, all or none. After a refusal, the others are answered by a look. If the
 * store fails, nothing is taken, except units of which nobody knows.
 *
 * @param asks At least one; no key of a family twice.
 * @param now The instant; `undefined` for the store's own time.
 */
export function takeAll(store: Store, asks: readonly Ask[], now: number | undefined): Answers {
  const { slotOf } = store;
  if (slotOf !== undefined && asks.length > 1) {
    const slots = bySlot(slotOf, asks);
    if (slots.length > 1) return takeFromSlots(store, asks, slots, now);
  }
  try {
    const answers = runTogether(store, asks, now);
    // An array has no `then`, and looking for one costs more.
    return Array.isArray(answers) ? answers : orRelease(answers, asks);
  } catch (error) {
    throw releaseUnanswered(asks, error);
  }
}

async function orRelease(
  answers: ReturnType<typeof runTogether>,
  asks: readonly Ask[],
): Promise<readonly unknown[]> {
  try {
    return await answers;
  } catch (error) {
    throw releaseUnanswered(asks, error);
  }
}

/** One call of a store. */
function runTogether(
  store: Store,
  asks: readonly Ask[],
  now: number | undefined,
): readonly unknown[] | PromiseLike<readonly unknown[]> {
  if (asks.length > 1) return store.run(asks, now);
  const { bound, key, argument } = asks[0]!;
  const answer: unknown = bound.call(key, argument, now);
  return isPromise(answer) ? answer.then((answer) => [answer]) : [answer];
}

/**
 * Releases permits that a store may have given although it did not answer. Nobody waits for that, since
 * the store may still not answer.
 */
function releaseUnanswered(asks: readonly Ask[], error: unknown): unknown {
  if ((error as { readonly applied?: unknown } | undefined)?.applied !== "unknown") return error;
  for (const { counter, bound: { verb }, key, argument } of asks) {
    const undo = undoOf(counter, key, verb.undo?.(argument, undefined));
    if (undo !== undefined) void orElse(undo, () => undefined);
  }
  return error;
}

async function takeFromSlots(
  store: Store,
  asks: readonly Ask[],
  slots: readonly (readonly Ask[])[],
  now: number | undefined,
): Promise<readonly unknown[]> {
  const seen = new Map<Ask, unknown>();
  await Promise.all(
    slots.slice(1).flat().map(async (ask) => {
      const { bound: { family, verb }, key, argument } = ask;
      const units = verb.kind === "take" ? verb.units(argument) : 0;
      seen.set(ask, verb.answerOf(await family.bind(peek).call(key, units, now)));
    }),
  );
  const isRefused = [...seen].some(([ask, answer]) => !decisionIn(ask, answer).allowed);
  const steps = slots.map((asks) => ({ asks, run: () => takeAll(store, asks, now) }));
  const answers = await (isRefused ? answerRest(asks, seen, now) : takeInTurn(steps, now));
  return asks.map((ask) => answers.get(ask));
}

/** The asks of each slot. */
function bySlot(
  slotOf: (name: string) => number,
  asks: readonly Ask[],
): readonly (readonly Ask[])[] {
  const slots = new Map<number, Ask[]>();
  for (const ask of asks) {
    const slot = slotOf(ask.bound.family.nameOf(ask.key));
    const own = slots.get(slot);
    if (own === undefined) slots.set(slot, [ask]);
    else own.push(ask);
  }
  return [...slots.values()];
}
