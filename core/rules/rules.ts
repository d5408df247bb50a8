/**
 * The matching of requests to limits, as pure functions: descriptors give rules, and decisions give
 * a verdict. Nothing here loads, stores or reads a clock.
 */

export { type CompiledDomain, compileDomain, type Domain } from "./compile_domain.ts";
export type { Rule, RuleFault, RuleKind } from "./compile_rule.ts";
export { addPattern, type EarlierPatterns, earlierPatterns } from "./earlier_patterns.ts";
export {
  ALGORITHM_NAMES,
  type AlgorithmName,
  algorithmOf,
  type AlgorithmOptions,
  ALGORITHMS,
  type LimitOptions,
} from "./limit_options.ts";
export {
  type AppliedRule,
  type BoundOf,
  type Descriptor,
  type DescriptorEntry,
  type Match,
  matchDescriptor,
  matchRules,
  nodeOf,
  OVERRIDE,
} from "./match_rules.ts";
export { type UnreachableLimit, unreachableLimits } from "./unreachable_limits.ts";
export type { ChargeMode, DomainOptions, RuleOptions } from "./rule_options.ts";
export {
  blockedDecision,
  NO_RULE_VERDICT,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "./verdict.ts";
export { matchesWildcard, type Wildcard, wildcardOf } from "./wildcard.ts";
