/*
 * The law of receipts on a store: it answers as the bare verbs do over states that are never
 * forgotten. A store that drops a key as soon as it is fresh forgets what was given back to it, and
 * then gives units back twice.
 */

import fc from "fast-check";
import type { Decision } from "../../../core/decision.ts";
import type { Verb } from "../../../core/store.ts";
import { charge } from "../../../core/verbs/charge.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { type Mark, reserve, type Reserved, reserveFor } from "../../../core/verbs/reserve.ts";
import { chargeReceipt, giveBackReceipt } from "../../../core/verbs/settle.ts";
import type { Settlement } from "../../../core/receipts/receipt.ts";
import type { TestedKey } from "../stores/tested_key.ts";
import { inWords } from "../table.ts";
import { expectSame } from "./expect_same.ts";
import { type MakeStoreLaw, storeLaw } from "./store_fixture.ts";

/** One call: what it does, how long after the one before, and numbers to pick from. */
interface Act {
  readonly does: "reserve" | "reserveFor" | "refund" | "settle" | "consume" | "charge" | "peek";
  readonly gap: number;
  readonly place: number;
  readonly units: number;
  readonly pick: number;
  readonly lane: boolean;
}

/** A receipt as the store made it, and as the bare verb did. */
interface Pair {
  readonly id: number;
  readonly tested: TestedKey;
  readonly units: number;
  readonly own: Mark;
  readonly bare: Mark;
}

function acts(): fc.Arbitrary<readonly Act[]> {
  return fc.array(
    fc.record({
      does: fc.constantFrom<Act["does"]>(
        "reserve",
        "reserve",
        "reserveFor",
        "refund",
        "settle",
        "settle",
        "consume",
        "charge",
        "peek",
      ),
      gap: fc.nat({ max: 5 }),
      place: fc.nat(),
      units: fc.nat({ max: 100 }),
      pick: fc.nat(),
      lane: fc.boolean(),
    }),
    { minLength: 4, maxLength: 24 },
  );
}

/** The law. */
export function receiptStoreLaw(): MakeStoreLaw {
  return storeLaw({
    name: "receipts are settled as by the bare verbs, on states that are never forgotten",
    keys: ["a", "b"],
    draw: acts(),
    async holds({ store, keys, now: start }, drawn) {
      const states = new Map<TestedKey, unknown>();
      const pairs: Pair[] = [];
      let now = start;
      let step = 0;

      /** Runs a verb on the store and on the bare state. */
      async function both<Argument, Answer>(
        tested: TestedKey,
        verb: Verb<Argument, Answer>,
        lane: boolean,
        own: Argument,
        bare: Argument = own,
      ): Promise<readonly [Answer, Answer]> {
        const bound = tested.family.bind(verb);
        const operation = { bound, key: tested.key, argument: own };
        const answer = lane
          ? await bound.call(tested.key, own, now)
          : (await store.run([operation], now))[0] as Answer;
        const steps = verb.on(tested.algorithm);
        const state = states.get(tested) ?? tested.algorithm.initial;
        const next = steps.next(state, now, bare);
        const wanted = steps.answer(state, next, now, bare);
        states.set(tested, next);
        const words = (each: Answer) => inWords(verb.decisionOf(each));
        expectSame(
          words(answer),
          words(wanted),
          `${verb.name} on ${tested.algorithm.id} at ${now}:`,
        );
        return [answer, wanted];
      }

      async function act({ does, place, units, pick, lane }: Act): Promise<void> {
        const tested = keys[place % keys.length]!;
        const cost = Math.ceil(tested.algorithm.capacity * units / 100);
        const simple: Partial<Record<Act["does"], Verb<number, Decision>>> = {
          consume,
          charge,
          peek,
        };
        const verb = simple[does];
        if (verb !== undefined) return void await both(tested, verb, lane, cost);
        if (does === "reserve" || does === "reserveFor") {
          const [ttl, of] = does === "reserve" ? [0, reserve] : [1 + pick % 100_000, reserveFor];
          const argument = { cost, id: ++step, ttl };
          const [own, bare] = await both<typeof argument, Reserved>(tested, of, lane, argument);
          expectSame(own.mark?.until, bare.mark?.until, "the receipt's until:");
          if (own.mark === undefined || bare.mark === undefined) return;
          pairs.push({ id: step, tested, units: cost, own: own.mark, bare: bare.mark });
          return;
        }
        const pair = pairs[pick % Math.max(1, pairs.length)];
        if (pair === undefined || pair.units === 0) return;
        const { id, own, bare } = pair;
        const change = does === "refund"
          ? { back: 1 + pick % pair.units }
          : { actual: Math.floor(pair.units * units / 80) };
        const isExcess = change.actual !== undefined && change.actual > pair.units;
        const argumentOf = (mark: Mark) => ({
          receipt: { ...mark, id, units: pair.units },
          ...change,
        });
        const [one, other] = await both<ReturnType<typeof argumentOf>, Settlement>(
          pair.tested,
          isExcess ? chargeReceipt : giveBackReceipt,
          lane,
          argumentOf(own),
          argumentOf(bare),
        );
        const { returned, charged, outcome } = one;
        const wanted = { returned: other.returned, charged: other.charged, outcome: other.outcome };
        expectSame(
          JSON.stringify({ returned, charged, outcome }),
          JSON.stringify(wanted),
          `${does} of ${keys[0]!.algorithm.id} at ${now}:`,
        );
      }

      for (const one of drawn) {
        const { grids } = keys[0]!.guide;
        now += [
          0,
          0,
          1,
          Math.floor(grids[one.pick % grids.length]! / 4),
          grids[0]!,
          7_000,
        ][one.gap]!;
        if (now > 2 ** 41) return;
        await act(one);
      }
    },
  });
}
