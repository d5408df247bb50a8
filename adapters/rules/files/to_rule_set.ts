import { errorMessage } from "../../../core/options/checks.ts";
import { problemText } from "./rule_problem.ts";
import { readRules, type RuleFile, type RuleSet } from "./read_rules.ts";

const NO_RULES: RuleSet = { domains: new Map(), rules: [], routes: new Map() };

/**
 * Rules as code brings them: none, as files would hold them, or ready to decide.
 *
 * @throws {TypeError} If they are malformed; the message names every fault.
 */
export function toRuleSet(
  rules: RuleFile | readonly RuleFile[] | RuleSet | undefined,
): RuleSet {
  if (rules === undefined) return NO_RULES;
  if (typeof rules !== "object" || rules === null) {
    throw new TypeError(errorMessage("use the rules", "they must be an object, or several", rules));
  }
  if ("domains" in rules) return rules;
  const files: readonly unknown[] = Array.isArray(rules) ? rules : [rules];
  const documents = files.map((data) => ({ name: "rules", data }));
  const read = readRules(documents, undefined);
  if (read.rules !== undefined) return read.rules;
  const errors = read.problems.filter(({ severity }) => severity === "error");
  throw new TypeError(
    `Cannot use the rules as there are faults in them: ${errors.map(problemText).join("; ")}`,
  );
}
