/*
 * The bridge from an HTTP adapter to rules: the descriptors of a request, the decision of the
 * rules, and the part of it that the answer shows.
 */

import type { Clock } from "../../../core/clock.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { checkOptions, checkText, typeError } from "../../../core/options/checks.ts";
import type { Descriptor, Verdict } from "../../../core/rules/rules.ts";
import type { RequestRules, RulesDecision } from "../../http/http.ts";
import {
  consumeUndoable,
  type RuleEngine,
  ruleEngine,
  type RuleEngineOptions,
} from "../engine/rule_engine.ts";
import type { RuleRequest } from "../engine/rule_request.ts";
import type { RuleSet } from "../files/read_rules.ts";
import type { RuleFile } from "../files/rule_file.ts";
import { fileSource } from "../sources/file_source.ts";
import { followRules, type FollowRulesOptions } from "../sources/follow_rules.ts";
import { objectSource } from "../sources/object_source.ts";
import type { RuleSource } from "../sources/rule_source.ts";
import { shownPolicies, violatedPolicies } from "./rule_policies.ts";

/** Where rules may come from: a path, rules as a file holds them, a loaded set, or a source. */
export type AnyRules = string | RuleFile | readonly RuleFile[] | RuleSet | RuleSource;

/** The options of `requestRules`. */
export interface RequestRulesOptions
  extends Omit<RuleEngineOptions, "rules" | "shadow">, Pick<FollowRulesOptions, "onEvent"> {
  /** The domain whose routes hold; default is the only domain. */
  readonly domain?: string | undefined;
}

/** Rules for the option `rules` of the HTTP adapters, which follow their source. */
export interface FollowedRequestRules extends RequestRules {
  /** The engine that decides. */
  readonly engine: RuleEngine;
  /** Reads the source now; answers whether its rules are in force. */
  reload(): Promise<boolean>;
  /** Stops following the source. */
  close(): Promise<void>;
}

const ACTION = "create requestRules";

/**
 * Makes the option `rules` of the HTTP adapters: the rules of a file, an object or a source decide
 * about requests, and changes of the source hold at once. The same file serves `tidegate serve`.
 *
 * @param from The path of a file or a folder, rules as a file holds them, a loaded set, or a source.
 * @returns A promise that rejects if the rules cannot be loaded.
 * @throws {TypeError} If an option is of the wrong type.
 *
 * @example
 * ```ts
 * import { limitHandler } from "tidegate/http";
 * import { requestRules } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const rules = await requestRules({
 *   domain: "shop",
 *   routes: [{ path: "/search", descriptors: [{ search: "{address}" }] }],
 *   rules: [{ key: "search", limits: [{ limit: 1, period: "1m", burst: 1 }] }],
 * });
 * const limited = limitHandler({ rules, address: () => "192.0.2.7" })(() => new Response("hello"));
 *
 * assert.equal((await limited(new Request("http://localhost/search"))).status, 200);
 * assert.equal((await limited(new Request("http://localhost/search"))).status, 429);
 * assert.equal((await limited(new Request("http://localhost/about"))).status, 200);
 * await rules.close();
 * ```
 */
export async function requestRules(
  from: AnyRules,
  options: RequestRulesOptions = {},
): Promise<FollowedRequestRules> {
  checkOptions<RequestRulesOptions>(ACTION, options, {
    domain: checkText,
    store: true,
    prefix: true,
    clock: true,
    lookup: true,
    lookupCache: true,
    onLookupError: true,
    onVerdict: true,
    onEvent: true,
  });
  const { domain, onEvent, ...on } = options;
  const prefix = on.prefix ?? "rules";
  if (isRuleSet(from)) {
    const engine = ruleEngine({ ...on, prefix, rules: from });
    domainOf(from, domain);
    const reload = () => Promise.resolve(true);
    return { ...rulesOf(engine, on.clock, domain), reload, close: noOne };
  }
  const source = sourceOf(from);
  const engine = ruleEngine({ ...on, lookup: on.lookup ?? source.lookup, prefix });
  const followed = await followRules(source, {
    apply(rules) {
      domainOf(rules, domain);
      engine.replace(rules);
    },
    onEvent,
    onLimitsChanged: () => engine.forgetLookups(),
  });
  const { close } = followed;
  return { ...rulesOf(engine, on.clock, domain), reload: () => followed.reload(), close };
}

function isRuleSet(from: AnyRules): from is RuleSet {
  return typeof from === "object" && from !== null && "domains" in from;
}

function sourceOf(from: Exclude<AnyRules, RuleSet>): RuleSource {
  if (typeof from === "string") return fileSource(from);
  if (typeof from !== "object" || from === null) {
    throw typeError(ACTION, "rules must be a path, an object, a set or a source", from);
  }
  return "load" in from ? from : objectSource(from);
}

/**
 * The domain whose routes hold.
 *
 * @throws {Error} If there is no such domain, or no domain is named and several have routes.
 */
function domainOf({ domains, routes }: RuleSet, domain: string | undefined): string {
  if (domain !== undefined) {
    if (domains.has(domain)) return domain;
    throw new Error(`Cannot limit requests as the rules must have the domain ${domain}`);
  }
  const named = routes.size > 0 ? routes : domains;
  if (named.size === 1) return named.keys().next().value!;
  throw new Error("Cannot limit requests as one domain must have routes, or be named as `domain`");
}

function rulesOf(
  engine: RuleEngine,
  clock: Clock | undefined,
  named: string | undefined,
): Omit<FollowedRequestRules, "reload" | "close"> {
  return {
    engine,
    clock,
    decide(call, more, refunds = true) {
      const { rules } = engine;
      const domain = domainOf(rules, named);
      const described = rules.routes.get(domain)?.(call) ??
        (rules.routes.has(domain) ? undefined : []);
      if (described === undefined) return "unreadable";
      const descriptors = [...described, ...more.map(descriptorOf)];
      if (descriptors.length === 0) return undefined;
      const request = { domain, descriptors };
      if (refunds) return decideBackably(engine, request);
      const verdict = engine.consume(request);
      const decided = (verdict: Verdict) => decisionOf(verdict, () => {});
      return isPromise(verdict) ? verdict.then(decided) : decided(verdict);
    },
  };
}

async function decideBackably(engine: RuleEngine, request: RuleRequest) {
  const { verdict, undo } = await consumeUndoable(engine, request);
  return decisionOf(verdict, undo);
}

function descriptorOf(entries: Readonly<Record<string, string>>): Descriptor {
  return { entries: Object.entries(entries) };
}

function decisionOf(
  { decision, rules }: Verdict,
  undo: () => unknown,
): RulesDecision | undefined {
  if (decision === undefined) return undefined;
  const { id, policies, decisions } = shownPolicies(rules);
  const deciding = rules.find(({ allowed }) => !allowed) ?? rules[0]!;
  return {
    decision,
    key: deciding.key,
    id,
    policies,
    lefts: decisions,
    violated: decision.allowed ? [] : [...new Set(rules.flatMap(violatedPolicies))],
    refund: () => undo,
  };
}

async function noOne(): Promise<void> {}
