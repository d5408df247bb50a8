import fc from "fast-check";
import { type Law, law } from "./law.ts";
import { balanceLaws } from "./laws/balance_laws.ts";
import { boundLaw } from "./laws/bound_law.ts";
import { chargeLaws } from "./laws/charge_laws.ts";
import { codecLaws, isTrueText } from "./laws/codec_laws.ts";
import { inputLaws } from "./laws/input_laws.ts";
import { modelLaw } from "./laws/model_law.ts";
import { stateLaws } from "./laws/state_laws.ts";
import { unitLaws } from "./laws/unit_laws.ts";
import { verdictLaws } from "./laws/verdict_laws.ts";
import { expectOver, visitsOf } from "./laws/visits.ts";
import { schedules, type SchedulesOptions } from "./arbitraries/schedules.ts";
import type { Subject } from "./arbitraries/subject.ts";
import { subjectArbitrary, type Subjects } from "./arbitraries/subject_arbitrary.ts";

/**
 * The laws that every algorithm keeps, each over random schedules: retryAfter is the first
 * millisecond that admits, a fresh key admits exactly its capacity, a refusal and a look return the
 * same state, and so on. With a subject's `rule` every decision is compared with the model's; with
 * its `bounds` the units admitted over every span are counted.
 *
 * @typeParam State What the algorithm remembers of a key.
 * @param subjects What to put to the laws.
 * @param options What schedules to draw; with clocks that step back and units given back by default.
 * @returns The laws; each runs by itself under any runner.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { algorithmLaws, gcraRule, rateBound } from "tidegate/testing";
 *
 * const options = { limit: 14, period: 884_090, burst: 40 };
 * const laws = algorithmLaws({
 *   algorithm: gcra(options),
 *   rule: gcraRule(options),
 *   bounds: [rateBound(options)],
 * });
 * for (const law of laws) law.run({ numRuns: 5 });
 * ```
 */
export function algorithmLaws<State>(
  subjects: Subjects<State>,
  options: SchedulesOptions = {},
): readonly Law[] {
  const arbitrary = subjectArbitrary(subjects);
  const all = [
    ...verdictLaws,
    ...stateLaws,
    ...balanceLaws,
    ...unitLaws,
    ...chargeLaws,
    ...codecLaws,
    ...inputLaws,
    modelLaw,
    boundLaw,
  ];
  const overVisits = all.map(({ name, check }) =>
    law(
      name,
      fc.property(arbitrary, schedules(options), (subject, schedule) => {
        const visits = visitsOf(subject, schedule);
        check(subject, visits, expectOver(subject, visits));
      }),
    )
  );
  return [...overVisits, textLaw(arbitrary, options)];
}

/** Texts near those of states, and texts like none. */
function textLaw(arbitrary: fc.Arbitrary<Subject>, options: SchedulesOptions): Law {
  const put = fc.oneof(fc.string({ maxLength: 3 }), fc.stringMatching(/^[0-9 :]{1,4}$/));
  const edit = fc.record({ at: fc.nat(), cut: fc.nat({ max: 3 }), put });
  const digits = fc.stringMatching(/^[a-z][0-9]( -?[0-9.e+:]{1,18}){0,4} ?$/);
  return law(
    "text of another shape reads as undefined, or as a state that has that text",
    fc.property(
      arbitrary,
      schedules(options),
      edit,
      fc.oneof(fc.string(), digits),
      (subject, schedule, { at, cut, put }, other) => {
        const visits = visitsOf(subject, schedule);
        const expect = expectOver(subject, visits);
        for (const visit of visits) {
          const text = subject.algorithm.codec.encode(visit.after);
          const start = at % (text.length + 1);
          const edited = text.slice(0, start) + put + text.slice(start + cut);
          for (
            const near of [edited, ` ${text}`, `${text} `, `${text}\n`, `${text} 0`, other, ""]
          ) {
            expect(
              visit,
              isTrueText(subject, near),
              () => `no false state of ${fc.stringify(near)}`,
            );
          }
        }
      },
    ),
  );
}
