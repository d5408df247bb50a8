/*
 * `tidegate lint`: whether rule files can be used, and their faults.
 */

import { readFile } from "node:fs/promises";

import { lintRequest, type RuleSet } from "../rules/rules.ts";
import { type Command, defineCommand, RULE_OPTIONS, usageError } from "./command_options.ts";
import { readAt } from "./rules_at.ts";

/** The command `tidegate lint`. */
export const lintCommand: Command = defineCommand({
  name: "lint",
  operands: "RULES...",
  summary: "check rule files",
  about: "  RULES is a YAML or JSON file, a folder of them, or redis://host:port.",
  options: {
    ...RULE_OPTIONS,
    strict: { text: "treat warnings as errors" },
    requests: {
      value: "FILE",
      text: "requests that must meet a rule, a JSON object on each line; others are admitted",
    },
  },
  statuses: ["the rules are valid", "they are not"],
  async run(operands, values, tools) {
    if (operands.length === 0) {
      throw usageError("lint needs rules to check, such as lint rules.yaml");
    }
    let status = 0;
    for (const path of operands) {
      const { rules, problems } = await readAt(path, values, tools);
      if (rules === undefined || (values.strict === true && problems.length > 0)) status = 1;
      else {
        const domains = [...rules.domains.keys()].join(", ");
        // The service's page counts rules in the same way. Other rules only lead to their inner
        // rules.
        const { length } = rules.rules.filter(({ kind }) => kind !== "open");
        const unmatched = values.requests === undefined
          ? []
          : await unmatchedRequests(values.requests, rules);
        if (unmatched.length > 0) status = 1;
        unmatched.forEach(tools.complain);
        tools.print(`${path}: ${length === 1 ? "1 rule" : `${length} rules`} in ${domains}`);
      }
    }
    return status;
  },
});

/** The faults of requests, a JSON object on each line, with their lines. */
async function unmatchedRequests(path: string, rules: RuleSet): Promise<readonly string[]> {
  const text = await readFile(path, "utf8").catch((cause) => {
    throw new Error(`Cannot read --requests ${path}`, { cause });
  });
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    let request: unknown;
    try {
      request = JSON.parse(line);
    } catch { /* It is no JSON, and no object either. */ }
    return lintRequest(request, rules).map((fault) => `${path}:${index + 1}: ${fault}`);
  });
}
