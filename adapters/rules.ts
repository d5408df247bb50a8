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
export {
  type FollowedRules,
  followRules,
  type FollowRulesOptions,
  type RulesEvent,
} from "./rules/follow_rules.ts";
export { ruleSchemaText } from "./rules/own_schema.ts";
export type { HttpCall, RouteOptions, Routes } from "./rules/routes.ts";
export { fileSource, type FileSourceOptions } from "./rules/sources/file_source.ts";
export { type ObjectSource, objectSource } from "./rules/sources/object_source.ts";
export {
  type RedisRulesClient,
  redisSource,
  type RedisSourceOptions,
  type RedisSubscriber,
} from "./rules/sources/redis_source.ts";
export type { RuleSource } from "./rules/sources/source.ts";
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
} from "../core/rules.ts";
export type { KeyRules, RuleLevel, RuleNode } from "../core/rules/compile.ts";
export type { AlgorithmName, Wildcard } from "../core/rules.ts";
export type { Algorithm, Halves, Policy } from "../core/algorithm.ts";
export type { Clock } from "../core/clock.ts";
export type { Codec } from "../core/codec.ts";
export type { Decision, DecisionSource } from "../core/decision.ts";
export type { Period } from "../core/period.ts";
export type {
  AsyncStore,
  Lane,
  Operation,
  Replaced,
  ReplaceMode,
  Store,
  StoreBase,
  SyncStore,
} from "../core/store.ts";
export type { DataPath } from "./rules/problem.ts";
export type { ReadText, TextPlace } from "./rules/read_yaml.ts";
