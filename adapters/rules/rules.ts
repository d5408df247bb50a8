/**
 * Rules: which limits hold for what, loaded from files, Redis or an object and changed while they
 * are used. Requests describe themselves by descriptors, as in requests to Envoy's rate limit
 * service.
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
 *       { key: "user", limits: [{ limit: 2, period: "1m", burst: 2 }] },
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

export { lintRequest } from "./files/lint_request.ts";
export { problemText, type RuleProblem } from "./files/rule_problem.ts";
export { type YamlReader, yamlReader } from "./files/read_yaml.ts";
export type { RuleDocument, RuleFile, RuleFormat } from "./files/rule_file.ts";
export {
  compileRules,
  readDocuments,
  type ReadRules,
  readRules,
  type ReadRulesOptions,
  type RuleSet,
} from "./files/read_rules.ts";
export {
  type RuleEngine,
  ruleEngine,
  type RuleEngineOptions,
  type SyncRuleEngineOptions,
} from "./engine/rule_engine.ts";
export {
  isMalformedRequest,
  isPermitsNeeded,
  isTooManyLimits,
  type RuleRequest,
} from "./engine/rule_request.ts";
export type {
  ActualCost,
  RuleHold,
  RulePermit,
  RuleReceipt,
  RuleReservation,
  RuleSettlement,
  SettledCounter,
} from "./engine/rule_receipt.ts";
export type { KeyLimits, KeyLimitsOptions, KeyLookup } from "./engine/key_limits.ts";
export {
  type FollowedRules,
  followRules,
  type FollowRulesOptions,
  type RulesEvent,
} from "./sources/follow_rules.ts";
export {
  type AnyRules,
  type FollowedRequestRules,
  requestRules,
  type RequestRulesOptions,
} from "./requests/request_rules.ts";
export { type ShownPolicies, shownPolicies, violatedPolicies } from "./requests/rule_policies.ts";
export { ruleSchemaText } from "./files/rule_schema.ts";
export type { HttpCall, RouteOptions, Routes } from "./files/compile_routes.ts";
export { fileSource, type FileSourceOptions } from "./sources/file_source.ts";
export { type ObjectSource, objectSource } from "./sources/object_source.ts";
export {
  type RedisRulesClient,
  redisSource,
  type RedisSourceOptions,
  type RedisSubscriber,
} from "./sources/redis_source.ts";
export { checkSource, type RuleSource } from "./sources/rule_source.ts";
export type { RuleCall } from "../http/http.ts";
export { explainMatch, explainReplaced, explainVerdict } from "./engine/explain_rules.ts";
export { ENVOY_UNITS, envoyLimit } from "./files/envoy_format.ts";
export { algorithmOf, OVERRIDE } from "../../core/rules/rules.ts";
export type {
  ChargeMode,
  Descriptor,
  DescriptorEntry,
  Domain,
  DomainOptions,
  LimitOptions,
  Rule,
  RuleKind,
  RuleOptions,
  RuleVerdict,
  Verdict,
} from "../../core/rules/rules.ts";
export type { KeyRules, RuleLevel, RuleNode } from "../../core/rules/compile_domain.ts";
export type { AlgorithmName, AlgorithmOptions, Wildcard } from "../../core/rules/rules.ts";
export type {
  Algorithm,
  AlgorithmInternals,
  ArrivalRate,
  Formula,
  Policy,
  SplitReducer,
} from "../../core/algorithm.ts";
export type { Clock } from "../../core/clock.ts";
export type { Codec } from "../../core/codec.ts";
export type { Decision, DecisionSource } from "../../core/decision.ts";
export type { Period } from "../../core/options/period.ts";
export type {
  Answered,
  AsyncStore,
  BoundVerb,
  Family,
  FamilySpec,
  OlderOptions,
  Operation,
  RefundNotice,
  ReplaceMode,
  Steps,
  Store,
  StoreBase,
  StoreMode,
  SyncStore,
  Transition,
  Verb,
  VerbKind,
} from "../../core/store.ts";
export type { DataPath } from "./files/rule_problem.ts";
export type { ReadText, TextPlace } from "./files/read_yaml.ts";
