/*
 * The law of permits, for reducers and for every store: whatever holders do, and in whatever order their
 * messages come, the answers are those of ids in a list.
 */

import fc from "fast-check";
import type { Algorithm } from "../../core/algorithm.ts";
import { all } from "../../core/algorithms/all.ts";
import { concurrency } from "../../core/algorithms/concurrency.ts";
import { gcra } from "../../core/algorithms/gcra.ts";
import type { Decision } from "../../core/decision.ts";
import type { Store, StoreBase } from "../../core/store.ts";
import { hold } from "../../core/verbs/hold.ts";
import type { PermitVerb } from "../../core/verbs/permit_steps.ts";
import { release } from "../../core/verbs/release.ts";
import { renew } from "../../core/verbs/renew.ts";
import { expectSame } from "./laws/expect_same.ts";
import { closing, type MakeStore, storeFixture } from "./laws/store_fixture.ts";
import { type Law, law } from "./law.ts";
import { type PermitAct, type PermitAnswer, permitModel } from "./models/permit_model.ts";

/** One message of a holder. Ids come from a few, so that messages are doubled, late and for others. */
export interface PermitStep {
  /** The verb that it asks for. */
  readonly act: PermitAct;
  /** The id of the holder: a small number. */
  readonly id: number;
  /** Units, if it holds. */
  readonly cost: number;
  /** Milliseconds since the one before; below 0 where the clock has stepped back. */
  readonly passed: number;
}

/** A key of `concurrency`, and what its holders send. */
export interface PermitCase {
  /** Units that may be held at once. */
  readonly limit: number;
  /** Milliseconds for which a permit is held. */
  readonly ttl: number;
  /** The messages, in the order in which they come. */
  readonly steps: readonly PermitStep[];
}

/** The options of `permitLaws`. */
export interface PermitLawsOptions {
  /** The most messages of a case; default 30. */
  readonly maxSteps?: number | undefined;
  /** The largest limit; default 6. */
  readonly maxLimit?: number | undefined;
}

const VERBS: Readonly<Record<PermitAct, PermitVerb>> = { hold, renew, release };
const ORIGIN = 1_790_000_000_000;

/**
 * Cases for the law of permits. The clock goes forward, to the millisecond of an expiry often enough,
 * and now and then steps back if `stepsBack`.
 */
export function permitCases(
  { maxSteps = 30, maxLimit = 6, stepsBack = false }: PermitLawsOptions & {
    readonly stepsBack?: boolean;
  } = {},
): fc.Arbitrary<PermitCase> {
  return fc.tuple(fc.integer({ min: 0, max: maxLimit }), fc.integer({ min: 10, max: 40 })).chain(
    ([limit, ttl]) => {
      const forward = fc.oneof(fc.constant(0), fc.nat(3), fc.constant(ttl), fc.nat(2 * ttl));
      const passed = stepsBack ? fc.oneof(forward, fc.integer({ min: -2 * ttl, max: 0 })) : forward;
      const step = fc.record<PermitStep>({
        act: fc.constantFrom<PermitAct>("hold", "hold", "renew", "release"),
        id: fc.integer({ min: 1, max: 2 * limit + 2 }),
        cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: Math.max(1, limit) + 1 })),
        passed,
      });
      return fc.record({
        limit: fc.constant(limit),
        ttl: fc.constant(ttl),
        steps: fc.array(step, { minLength: 1, maxLength: maxSteps }),
      });
    },
  );
}

/** Puts one message to whatever keeps permits. */
export type SendPermitStep = (step: PermitStep, now: number) => Decision | Promise<Decision>;

/** Ends the law unless all answers are those of the model. */
async function expectModel({ limit, ttl, steps }: PermitCase, send: SendPermitStep): Promise<void> {
  const model = permitModel({ limit, ttl });
  let now = ORIGIN;
  for (const step of steps) {
    now += step.passed;
    const { act, id, cost } = step;
    const wanted = model.act(act, now, id, cost);
    const decision = await send(step, now);
    const { remaining, retryAfter, resetAfter } = decision.parts?.[0] ?? decision;
    const seen = { allowed: decision.allowed, remaining, retryAfter, resetAfter };
    const what = `of ${act} ${id} of ${cost} after ${now - ORIGIN} ms`;
    expectSame(inWords(seen), inWords(wanted), what);
  }
}

/** Sends messages to a reducer, whose state goes through its words and its text each time. */
export function permitsInReducer(algorithm: Algorithm): SendPermitStep {
  const { codec, initial } = algorithm;
  const words = new Float64Array(codec.maxWords + 1);
  const steps = Object.fromEntries(
    Object.entries(VERBS).map(([act, verb]) => [act, verb.on(algorithm)]),
  );
  let state = initial;
  return function send({ act, id, cost }, now) {
    const { next: nextOf, answer } = steps[act]!;
    const next = nextOf(state, now, { id, cost });
    const decision = answer(state, next, now, { id, cost });
    const text = codec.encode(next);
    const kept = codec.read(words, 1, codec.write(next, words, 1));
    expectSame(codec.encode(kept), text, "the text of a state that was kept as words");
    expectSame(kept === initial, next === initial, "whether such a state is fresh");
    state = codec.decode(text);
    expectSame(codec.encode(state), text, "the text of a state that was kept as text");
    expectSame(state === initial, next === initial, "whether such a state is fresh");
    return decision;
  };
}

function inWords({ allowed, remaining, retryAfter, resetAfter }: PermitAnswer): string {
  return `${allowed}, ${remaining} left, again in ${retryAfter}, fresh in ${resetAfter}`;
}

let keys = 0;

/** Sends messages to a store, under a key of their own. */
export function permitsInStore(store: Store, algorithm: Algorithm): SendPermitStep {
  const prefix = `permits-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
  const family = (store as StoreBase).open({ prefix, algorithm, older: [] });
  const key = `key-${++keys}`;
  return ({ act, id, cost }, now) => family.bind(VERBS[act]).call(key, { id, cost }, now);
}

/**
 * The laws of permits on a store: alone, and in `all` beside a limit that never refuses.
 *
 * @param makeStore Makes an empty store, or one whose keys no other program uses. One serves all cases.
 * @param options How large cases are.
 * @returns The laws; each runs by itself under any runner, asynchronously.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { permitLaws } from "tidegate/testing";
 *
 * for (const law of permitLaws(() => memoryStore())) await law.run({ numRuns: 5 });
 * ```
 */
export function permitLaws(
  makeStore: MakeStore,
  options: PermitLawsOptions = {},
): readonly Law[] {
  return Object.entries(FORMS).map(([name, make]) => {
    const { use, close } = storeFixture(makeStore, true);
    const cases = permitCases(options);
    const made = law(
      name,
      fc.asyncProperty(cases, async (permits) => {
        await use((store) => expectModel(permits, permitsInStore(store, make(permits))));
        return true;
      }),
    );
    return closing(made, close);
  });
}

/** The same laws of the bare reducers, under clocks that step back. */
export function permitReducerLaws(options: PermitLawsOptions = {}): readonly Law[] {
  const cases = permitCases({ ...options, stepsBack: true });
  return Object.entries(FORMS).map(([name, make]) =>
    law(
      name,
      fc.asyncProperty(cases, async (permits) => {
        await expectModel(permits, permitsInReducer(make(permits)));
        return true;
      }),
    )
  );
}

/** The algorithms that have permits: the algorithm alone, and beside a limit that refuses nothing. */
const FORMS: Readonly<Record<string, (permits: PermitCase) => Algorithm>> = {
  "permits are ids in a list": ({ limit, ttl }) => concurrency({ limit, ttl }) as Algorithm,
  "permits in all are ids in a list": ({ limit, ttl }) =>
    all(
      concurrency({ limit, ttl }),
      gcra({ limit: 1_000_000, period: "1m", burst: 1_000_000 }),
    ) as Algorithm,
};
