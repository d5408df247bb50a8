/*
 * The laws that check an algorithm from outside: against its independent model, and against its
 * bounds. The other laws only ask whether an algorithm is consistent with itself.
 */

import type { Bound } from "../bound.ts";
import { type Ledger, ledger } from "../ledger.ts";
import { model } from "../models/judge.ts";
import { inWords } from "../table.ts";
import { sameDecision } from "./same_decision.ts";
import type { VisitLaw } from "./visits.ts";

/** Each law checks what a subject states about its algorithm, and passes if it states nothing. */
export const promiseLaws: readonly VisitLaw[] = [
  {
    name: "every decision is the model's",
    check({ algorithm, rule }) {
      if (rule === undefined) hintAtRules(algorithm.id);
      const key = rule && model(rule);
      return ({ now, cost, charge, decision }, expect) => {
        if (key === undefined) return;
        const expected = key.decide(now, cost, charge);
        expect(sameDecision(decision, expected), () => inWords(expected));
      };
    },
  },
  {
    name: "no span admits more than the bound",
    check({ bounds = [] }) {
      const book = ledger();
      let charged = false;
      return ({ now, cost, charge, decision }, expect) => {
        // A charge may exceed the limit, so from the first one on the bounds promise nothing.
        charged ||= charge;
        if (charged) return;
        if (decision.allowed) book.enter(now, cost);
        if (!decision.allowed || cost <= 0) return;
        for (const bound of bounds) {
          const excess = excessOf(book, bound);
          expect(excess === undefined, () => `${bound.name}, but ${excess}`);
        }
      };
    },
  },
];

/** The shortest span that ends at the newest entry and exceeds the bound, in words. */
function excessOf({ entries }: Ledger, bound: Bound): string | undefined {
  const to = entries.at(-1)?.at ?? 0;
  let units = 0;
  for (const entry of [...entries].reverse()) {
    units += entry.units;
    if (units > bound.most(entry.at, to)) return `${units} from ${entry.at} to ${to}`;
  }
  return undefined;
}

let isHinted = false;

/** Says once what no law can find without a rule. */
function hintAtRules(id: string): void {
  if (isHinted) return;
  isHinted = true;
  console.warn(
    `The laws of ${id} run without a rule, so they cannot find an algorithm that is consistent and ` +
      "wrong, such as a window that begins 1 ms late: give algorithmLaws({ algorithm, rule })",
  );
}
