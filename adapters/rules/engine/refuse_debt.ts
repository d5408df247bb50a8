import type { Decision } from "../../../core/decision.ts";
import { type RuleVerdict, type Verdict, verdictOf } from "../../../core/rules/rules.ts";

/**
 * A verdict that refuses where a key is in debt, as Envoy's service answers: a look at it, and a
 * charge that brought it there. It can be asked again once the debt has drained.
 */
export function refusingDebt(verdict: Verdict): Verdict {
  const { rules } = verdict;
  return rules.some(({ decision }) => isInDebt(decision))
    ? verdictOf(rules.map(refusedInDebt))
    : verdict;
}

function refusedInDebt(verdict: RuleVerdict): RuleVerdict {
  const { rule, decision } = verdict;
  if (!isInDebt(decision)) return verdict;
  return { ...verdict, decision: refused(decision), allowed: rule.shadow };
}

function refused(decision: Decision): Decision {
  const parts = decision.parts?.map((part) => isInDebt(part) ? refused(part) : part);
  return { ...decision, allowed: false, retryAfter: decision.nextAfter, parts };
}

function isInDebt(decision: Decision | undefined): decision is Decision {
  return decision !== undefined && decision.allowed && decision.debt > 0;
}
