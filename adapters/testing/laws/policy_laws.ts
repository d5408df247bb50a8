/*
 * The laws of the numbers that an algorithm shows to headers and dashboards: its policies must be
 * the limits that it decides by.
 */

import type { VisitLaw } from "./visits.ts";

/** Laws of the policies that an algorithm states, and of the decisions under them. */
export const policyLaws: readonly VisitLaw[] = [
  {
    name: "limit is that of a policy",
    check({ algorithm: { policies } }) {
      const limits = policies.map(({ limit }) => limit);
      return ({ decision: { limit, parts = [] } }, expect) => {
        expect(limits.includes(limit), () => `a limit of ${limits.join(" or ")}, not ${limit}`);
        for (const part of parts) {
          expect(limits.includes(part.limit), () => `no part with a limit of ${part.limit}`);
        }
      };
    },
  },
  {
    name: "a policy's burst is the capacity",
    check: ({ algorithm: { policies, capacity } }) => (_visit, expect) => {
      // A part of `all` may admit more than all of them together do.
      const least = Math.min(...policies.map(({ burst }) => burst));
      expect(least === capacity, () => `a policy with a burst of ${capacity}, not ${least}`);
    },
  },
];
