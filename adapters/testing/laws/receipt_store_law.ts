/*
 * The law of receipts on a store: it answers as the bare verbs do over states that are never
 * forgotten. A store that drops a key as soon as it is fresh forgets which receipts are open.
 */

import fc from "fast-check";
import { reservable } from "../../../core/algorithms/reservable.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Claim, Settlement } from "../../../core/receipts/receipt.ts";
import type { Verb } from "../../../core/store.ts";
import { charge } from "../../../core/verbs/charge.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { reserve, type ReserveArgument, type Reserved } from "../../../core/verbs/take_backable.ts";
import { chargeReceipt, giveBackReceipt, type SettleArgument } from "../../../core/verbs/settle.ts";
import type { Subject } from "../arbitraries/subjects.ts";
import type { TestedKey } from "../stores/tested_key.ts";
import { inWords } from "../table.ts";
import { expectSame } from "./expect_same.ts";
import { type MakeStoreLaw, storeLaw } from "./store_fixture.ts";

/** One call: what it does, how long after the one before, and numbers to pick from. */
interface Act {
  readonly does: "reserve" | "settle" | "consume" | "charge" | "peek";
  readonly gap: number;
  readonly place: number;
  readonly units: number;
  readonly pick: number;
  readonly lane: boolean;
}

/** A receipt as the store made it, and as the bare verb did. */
interface Pair {
  readonly tested: TestedKey;
  readonly own: Claim;
  readonly bare: Claim;
}

function acts(): fc.Arbitrary<readonly Act[]> {
  return fc.array(
    fc.record({
      does: fc.constantFrom<Act["does"]>(
        "reserve",
        "reserve",
        "reserve",
        "settle",
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
  return (fixture, subjects) => {
    const drawn = fc.tuple(subjects, fc.constantFrom(1, 1_000, 86_400_000))
      .map(([subject, within]) => reservableSubject(subject, within));
    return receiptLaw(fixture, drawn);
  };
}

/** The subject with receipts, if its algorithm can have them. */
function reservableSubject(subject: Subject, within: number): Subject {
  const { algorithm, grids } = subject;
  if (algorithm.internals?.returns === undefined) return subject;
  return { algorithm: reservable(algorithm, { within }), grids };
}

const receiptLaw: MakeStoreLaw = storeLaw({
  name: "receipts are settled as by the bare verbs, on states that are never forgotten",
  keys: ["a", "b"],
  draw: acts(),
  async holds({ store, keys, now: start }, drawn) {
    if (keys[0]!.algorithm.internals?.receipts === undefined) return;
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
      if (does === "reserve") {
        const argument: ReserveArgument = { cost, id: ++step };
        const [own, bare] = await both<ReserveArgument, Reserved>(tested, reserve, lane, argument);
        expectSame(own.mark?.number, bare.mark?.number, "the receipt's number:");
        if (own.mark === undefined || bare.mark === undefined) return;
        const claimOf = (mark: Omit<Claim, "units">): Claim => ({ ...mark, units: cost });
        pairs.push({ tested, own: claimOf(own.mark), bare: claimOf(bare.mark) });
        return;
      }
      const pair = pairs[pick % Math.max(1, pairs.length)];
      if (pair === undefined) return;
      const { own, bare } = pair;
      const used = Math.floor(own.units * units / 80);
      const [one, other] = await both<SettleArgument, Settlement>(
        pair.tested,
        used > own.units ? chargeReceipt : giveBackReceipt,
        lane,
        { receipt: own, used },
        { receipt: bare, used },
      );
      const wordsOf = ({ outcome, returned, charged }: Settlement) =>
        `${outcome}, ${returned} returned, ${charged} charged`;
      expectSame(wordsOf(one), wordsOf(other), `settle of ${tested.algorithm.id} at ${now}:`);
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
