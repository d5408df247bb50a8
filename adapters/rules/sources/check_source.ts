import { errorMessage } from "../../../core/options/checks.ts";
import type { RuleSource } from "./rule_source.ts";

/**
 * Requires a source of rules, so that a forgotten one is reported at once.
 *
 * @param action What cannot be done without it, such as `"serve"`.
 * @param name What the caller calls the source, such as `"rules"`.
 * @throws {TypeError} If it is none.
 */
export function checkSource(action: string, name: string, source: unknown): void {
  if (typeof (source as Partial<RuleSource> | undefined | null)?.load === "function") return;
  const rule = `${name} must be a source, such as fileSource("rules.yaml")`;
  throw new TypeError(errorMessage(action, rule, source));
}
