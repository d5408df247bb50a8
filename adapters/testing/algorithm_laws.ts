/*
 * Assembles the laws of algorithms from `laws/` into one list of named properties over random
 * schedules, so that an algorithm written elsewhere can be held to the promises of those in core.
 */

import fc from "fast-check";
import { inOrder, type Law, law } from "./law.ts";
import { codecLaws, textChanges, textCheck } from "./laws/codec_laws.ts";
import { identityLaw } from "./laws/identity_law.ts";
import { inputLaws } from "./laws/input_laws.ts";
import { policyLaws } from "./laws/policy_laws.ts";
import { promiseLaws } from "./laws/promise_laws.ts";
import { receiptLaws } from "./laws/receipt_laws.ts";
import { stepLaws } from "./laws/step_laws.ts";
import { unitLaws } from "./laws/unit_laws.ts";
import { checkVisits } from "./laws/visits.ts";
import { schedules, type SchedulesOptions } from "./arbitraries/schedules.ts";
import { subjectArbitrary, subjectGroups, type Subjects } from "./arbitraries/subjects.ts";

const visitLaws = [
  ...stepLaws,
  ...unitLaws,
  ...policyLaws,
  ...codecLaws,
  ...inputLaws,
  ...promiseLaws,
];

/**
 * The laws that every algorithm keeps, each over random schedules: retryAfter is the first
 * millisecond that admits, a fresh key admits exactly its capacity, a refusal and a look return the
 * same state, and so on. With a subject's `rule` every decision is compared with the model's; with
 * its `bounds` the units admitted over every span are counted. Two or more policies of one factory,
 * like `algorithmLaws([a, b])`, show whether its `id` has every option.
 *
 * @typeParam State The algorithm's memory of a key.
 * @param subjects The algorithms to test.
 * @param options The schedules to draw; by default with clocks that step back, units given back and
 * units charged.
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
  const drawn = [subjectArbitrary(subjects), schedules(options)] as const;
  return inOrder([
    ...visitLaws.map(({ name, check }) =>
      law(
        name,
        fc.property(...drawn, (subject, schedule) => {
          checkVisits(subject, schedule, check(subject));
        }),
      )
    ),
    law(
      "text of another shape reads as undefined, or as a state that has that text",
      fc.property(...drawn, textChanges(), (subject, schedule, change) => {
        checkVisits(subject, schedule, textCheck(subject, change));
      }),
    ),
    ...receiptLaws(subjectArbitrary(subjects)),
    identityLaw(subjectGroups(subjects), options),
  ]);
}
