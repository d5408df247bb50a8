/*
 * `tidegate lint`: whether rule files can be used, and what is wrong with them.
 */

import { problemText } from "../rules/rules.ts";
import { type Tools, usageError, type Values } from "./command_options.ts";
import { readAt } from "./rules_at.ts";

/** Checks rules; resolves to 1 where they cannot be used. */
export async function runLint(
  operands: readonly string[],
  values: Values,
  tools: Tools,
): Promise<number> {
  if (operands.length === 0) throw usageError("lint takes the rules to check");
  let status = 0;
  for (const path of operands) {
    const { rules, problems } = await readAt(path, values);
    for (const problem of problems) tools.complain(problemText(problem));
    if (rules === undefined || (values.strict === true && problems.length > 0)) status = 1;
    else {tools.print(
        `${path}: ${rules.rules.length} rules in ${[...rules.domains.keys()].join(", ")}`,
      );}
  }
  return status;
}
