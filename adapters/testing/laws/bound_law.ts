import type { Bound } from "../bound.ts";
import { type Ledger, ledger } from "../ledger.ts";
import type { VisitLaw } from "./visit_law.ts";

/** The bounds on units admitted over any span. */
export const boundLaw: VisitLaw = {
  name: "no span admits more than the bound",
  check({ bounds = [] }, visits, expect) {
    const book = ledger();
    for (const visit of visits) {
      // What was charged is no promise's: it was used before it was asked for.
      if (visit.charge) return;
      if (!visit.decision.allowed) continue;
      book.enter(visit.now, visit.cost);
      if (visit.cost <= 0) continue;
      for (const bound of bounds) {
        const excess = excessOf(book, bound);
        expect(visit, excess === undefined, () => `${bound.name}, but ${excess}`);
      }
    }
  },
};

/** The first span that ends now and holds more than the bound, in words. */
function excessOf(book: Ledger, bound: Bound): string | undefined {
  const to = book.entries.at(-1)?.at ?? 0;
  let units = 0;
  for (let i = book.entries.length - 1; i >= 0; i--) {
    const entry = book.entries[i] as { at: number; units: number };
    units += entry.units;
    if (units > bound.most(entry.at, to)) return `${units} from ${entry.at} to ${to}`;
  }
  return undefined;
}
