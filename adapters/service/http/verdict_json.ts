/*
 * The JSON that answers a call. Every request needs it, so it is concatenated by hand, and the
 * constant part of each rule is built only once.
 */

import type { Decision } from "../../../mod.ts";
import type {
  Rule,
  RuleSettlement,
  RuleVerdict,
  SettledCounter,
  Verdict,
} from "../../rules/rules.ts";

const heads = new WeakMap<Rule, string>();

/** The verdict as JSON. */
export function verdictJson({ allowed, decision, rules }: Verdict): string {
  const together = decisionJson(decision);
  let list = "";
  for (let index = 0; index < rules.length; index++) {
    const said = rules[index]!;
    // With one rule, its decision is also the verdict's.
    const own = said.decision === decision ? together : decisionJson(said.decision);
    list += (index === 0 ? "" : ",") + ruleJson(said, own);
  }
  return `{"allowed":${allowed},${together},"rules":[${list}]}`;
}

function ruleJson({ rule, allowed, decision }: RuleVerdict, own: string): string {
  const would = rule.shadow ? `,"wouldAllow":${decision === undefined || decision.allowed}` : "";
  return `${headOf(rule)}"allowed":${allowed}${would},${own}}`;
}

/** The part of a rule's JSON that never changes. */
function headOf(rule: Rule): string {
  const known = heads.get(rule);
  if (known !== undefined) return known;
  const name = JSON.stringify(rule.name ?? rule.label);
  const head = `{"rule":${name},"shadow":${rule.shadow},`;
  heads.set(rule, head);
  return head;
}

const NOTHING =
  '"limit":null,"remaining":null,"retryAfter":0,"nextAfter":0,"resetAfter":0,"delay":0,"debt":0';

/** A settlement as JSON. */
export function settlementJson(
  { outcome, returned, charged, counters }: RuleSettlement,
): string {
  const list = counters.map(counterJson).join(",");
  return `{"outcome":"${outcome}","returned":${returned},"charged":${charged},"rules":[${list}]}`;
}

function counterJson({ rule, outcome, returned, charged, decision }: SettledCounter): string {
  const name = JSON.stringify(rule.name ?? rule.label);
  return `{"rule":${name},"outcome":"${outcome}","returned":${returned},"charged":${charged},` +
    `${decisionJson(decision)}}`;
}

/** A decision's fields; `retryAfter` is null if the cost can never be admitted. */
function decisionJson(decision: Decision | undefined): string {
  if (decision === undefined) return NOTHING;
  const { limit, remaining, retryAfter, nextAfter, resetAfter, delay, debt, source } = decision;
  const wait = retryAfter === Infinity ? "null" : retryAfter;
  const other = source === undefined ? "" : `,"source":"${source}"`;
  return `"limit":${limit},"remaining":${remaining},"retryAfter":${wait},"nextAfter":${nextAfter},"resetAfter":${resetAfter},"delay":${delay},"debt":${debt}${other}`;
}
