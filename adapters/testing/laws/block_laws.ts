/*
 * The laws of blocks by hand: they hold for `blockable` of any algorithm, whatever its state was. The
 * algorithm itself says what a key would be without a block, so that no law needs a model.
 */

import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { blockable } from "../../../core/algorithms/blockable.ts";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { block, unblock } from "../../../core/verbs/block.ts";
import { schedules } from "../arbitraries/schedules.ts";
import { subjectArbitrary, type Subjects } from "../arbitraries/subjects.ts";
import { type Law, law } from "../law.ts";
import { sameDecision } from "./same_decision.ts";
import { checkVisits, type Expect } from "./visits.ts";

/** Words are tried of states that take at most so many. */
const MOST_WORDS = 4_096;

/** A key at the moment of its block. */
interface Blocked {
  /** The algorithm whose keys can be blocked. */
  readonly algorithm: Algorithm;
  /** The state before the block and with it. */
  readonly before: unknown;
  readonly state: unknown;
  readonly now: number;
  /** The first millisecond after the block. */
  readonly end: number;
}

type BlockCheck = (blocked: Blocked, expect: Expect) => void;

const CHECKS: Readonly<Record<string, BlockCheck>> = {
  "a blocked key refuses every cost until exactly the end of the block": (
    { algorithm: { step, capacity }, before, state, now, end },
    expect,
  ) => {
    for (const at of [now, Math.floor((now + end) / 2), end - 1]) {
      for (const cost of [1, capacity]) {
        if (at < now || cost === 0) continue;
        const [refused, after] = step(state, at, cost);
        expect(!refused.allowed && after === state, `a refusal at ${at} that writes nothing`);
        expect(refused.remaining === 0, "nothing left");
        expect(refused.retryAfter >= end - at, `retryAfter to ${end} or later`);
      }
      const [look] = step(state, at, 0);
      expect(look.allowed && look.remaining === 0, "a look that sees nothing left");
    }
    for (const at of [end, end + 1, end + 100_000]) {
      if (at > LAST_INSTANT) continue;
      for (const cost of [0, 1, capacity, capacity + 1, -1]) {
        const [own] = step(state, at, cost);
        const [other] = step(before, at, cost);
        expect(sameDecision(own, other), `at ${at} the answer without a block to cost ${cost}`);
      }
    }
  },
  "the retryAfter of a blocked key is the first millisecond that admits": (
    { algorithm: { step, capacity }, state, now },
    expect,
  ) => {
    for (const cost of [1, Math.ceil(capacity / 2), capacity]) {
      const { retryAfter } = step(state, now, cost)[0];
      if (retryAfter === 0 || now + retryAfter > LAST_INSTANT) continue;
      expect(step(state, now + retryAfter, cost)[0].allowed, `${cost} after ${retryAfter} ms`);
      expect(
        !step(state, now + retryAfter - 1, cost)[0].allowed,
        `no ${cost} a millisecond earlier`,
      );
    }
  },
  "unblock restores what was before, and what was given back or charged meanwhile": (
    { algorithm, before, state, now },
    expect,
  ) => {
    const { next } = unblock.on(algorithm);
    const { encode } = algorithm.codec;
    const text = (one: unknown) => encode(next(one, now, 0));
    expect(text(state) === text(before), "the text of the state before the block");
    for (const units of [-1, -3]) {
      const [, given] = algorithm.step(state, now, units);
      const [, other] = algorithm.step(next(before, now, 0), now, units);
      expect(text(given) === encode(other), `what ${units} leaves of the state before`);
    }
    const [, charged] = algorithm.charge(state, now, 2);
    const [, other] = algorithm.charge(next(before, now, 0), now, 2);
    expect(text(charged) === encode(other), "what a charge of 2 leaves of the state before");
    const free = next(state, now, 0);
    expect(next(free, now, 0) === free, "the same state of a key that is not blocked");
  },
  "a shorter block leaves a longer one alone, and a longer one takes its place": (
    { algorithm, state, now, end },
    expect,
  ) => {
    const { next } = block.on(algorithm);
    expect(next(state, now, Math.max(1, end - now - 1)) === state, "the same state");
    const longer = next(state, now, end - now + 5);
    const last = Math.min(end + 4, LAST_INSTANT - 1);
    expect(!algorithm.step(longer, last, 1)[0].allowed, `a refusal at ${last}`);
  },
  "a blocked state reads back from its text and from its words": (
    { algorithm: { codec }, state },
    expect,
  ) => {
    const text = codec.encode(state);
    const read = codec.decode(text);
    expect(read !== undefined && codec.encode(read) === text, `the state of ${text}`);
    // A blocked state takes as many words as one may have: there is no room for those of a huge log.
    if (codec.maxWords > MOST_WORDS) return;
    const words = new Float64Array(codec.maxWords + 2).fill(NaN);
    const count = codec.write(state, words, 1);
    const back = codec.read(words, 1, count);
    expect(back !== undefined && codec.encode(back) === text, `the words of ${text}`);
    expect(count <= codec.maxWords && Number.isNaN(words[codec.maxWords + 1]), "no word too many");
  },
};

/**
 * The laws of blocks by hand, for `blockable` of algorithms of any kind.
 *
 * @param subjects The algorithms to test, each of them `blockable`.
 * @returns The laws; each runs by itself under any runner.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { blockLaws } from "tidegate/testing";
 *
 * for (const law of blockLaws(gcra({ limit: 14, period: "1m", burst: 14 }))) law.run({ numRuns: 5 });
 * ```
 */
export function blockLaws<State>(subjects: Subjects<State>): readonly Law[] {
  const drawn = [
    subjectArbitrary(subjects),
    schedules(),
    fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1e10 })),
  ] as const;
  return Object.entries(CHECKS).map(([name, check]) =>
    law(
      name,
      fc.property(...drawn, (subject, schedule, duration) => {
        const algorithm = blockable(subject.algorithm) as Algorithm;
        const { next } = block.on(algorithm);
        checkVisits({ ...subject, algorithm }, schedule, ({ after, now }, expect) => {
          if (now >= LAST_INSTANT) return;
          const end = Math.min(now + duration, LAST_INSTANT);
          check({ algorithm, before: after, state: next(after, now, duration), now, end }, expect);
        });
      }),
    )
  );
}
