/**
 * The matching of requests to limits, as pure functions: descriptors in, rules out, decisions in, a
 * verdict out. Nothing here loads, stores or asks for the time.
 */

export {
  type Compiled,
  compileDomain,
  type Domain,
  type Rule,
  type RuleFault,
  type RuleKind,
} from "./rules/compile.ts";
export {
  ALGORITHM_NAMES,
  type AlgorithmName,
  algorithmOf,
  type LimitOptions,
} from "./rules/limit_options.ts";
export {
  applicableRules,
  type Applied,
  type Descriptor,
  type DescriptorEntry,
  type Match,
  matchDescriptor,
  OVERRIDE,
} from "./rules/match.ts";
export { neverBinding, type NeverBinds } from "./rules/never_binds.ts";
export type { ChargeMode, DomainOptions, RuleOptions } from "./rules/options.ts";
export {
  blockedDecision,
  OPEN_VERDICT,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "./rules/verdict.ts";
export { covers, matchesWildcard, type Wildcard, wildcardOf } from "./rules/wildcard.ts";
