import { checkCost, errorMessage } from "../../../core/options/checks.ts";
import type { Descriptor } from "../../../core/rules/rules.ts";
import type { RuleRequest } from "./rule_engine.ts";

/**
 * Requires a request to be one that can be decided, so that a bad one changes nothing.
 *
 * @throws {TypeError} If there is no descriptor, or one without entries.
 * @throws {RangeError} If a cost is no integer of at least 0.
 */
export function checkRuleRequest({ descriptors, cost }: RuleRequest): void {
  if (!Array.isArray(descriptors) || descriptors.length === 0) {
    const rule = "a request must have at least one descriptor";
    throw new TypeError(errorMessage("decide", rule, descriptors));
  }
  if (cost !== undefined) checkCost("decide", cost, 0);
  for (let place = 0; place < descriptors.length; place++) {
    const { entries, cost: own } = descriptors[place] as Descriptor;
    if (!Array.isArray(entries) || entries.length === 0) {
      const rule = "a descriptor must have at least one entry";
      throw new TypeError(errorMessage("decide", rule, entries));
    }
    if (own !== undefined) checkCost("decide", own, 0);
  }
}
