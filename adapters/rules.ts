/**
 * Rules: which limits hold for what, loaded from files, Redis or an object, changed while they are
 * used, and asked with descriptors as Envoy's rate limit service is.
 *
 * @example
 * ```ts
 * import { ruleEngine } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const engine = ruleEngine({
 *   rules: {
 *     domain: "shop",
 *     rules: [
 *       { key: "user", limits: [{ limit: 2, period: "1m" }] },
 *       { key: "user", value: "admin", unlimited: true },
 *     ],
 *   },
 * });
 *
 * const request = { domain: "shop", descriptors: [{ entries: [["user", "42"]] }] } as const;
 * assert.equal((await engine.consume(request)).allowed, true);
 * assert.equal((await engine.consume(request)).allowed, true);
 * assert.equal((await engine.consume(request)).allowed, false);
 * ```
 *
 * @module
 */

export { problemText, type RuleProblem } from "./rules/problem.ts";
export { type YamlReader, yamlReader } from "./rules/read_yaml.ts";
export {
  type ReadRules,
  readRules,
  type ReadRulesOptions,
  type RuleDocument,
  type RuleFile,
  type RuleFormat,
  type RuleSet,
} from "./rules/rule_set.ts";
export {
  type RuleEngine,
  ruleEngine,
  type RuleEngineOptions,
  type RuleRequest,
} from "./rules/engine.ts";
export type { KeyLimits, KeyLimitsOptions, KeyLookup } from "./rules/key_limits.ts";
