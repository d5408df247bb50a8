import { model } from "../models/model.ts";
import { inWords } from "../table.ts";
import { sameDecision } from "./same_decision.ts";
import type { VisitLaw } from "./visit_law.ts";

/** The independent model, at every step. */
export const modelLaw: VisitLaw = {
  name: "every decision is the model's",
  check({ rule }, visits, expect) {
    if (rule === undefined) return;
    const key = model(rule);
    for (const visit of visits) {
      const expected = key.decide(visit.now, visit.cost, visit.charge);
      expect(visit, sameDecision(visit.decision, expected), () => inWords(expected));
    }
  },
};
