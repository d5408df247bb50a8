/*
 * Rules for the gate: reads from a request what rules need to know, and asks them.
 */

import { setBounded } from "../../../core/bounded_map.ts";
import type { Decision } from "../../../core/decision.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { checkFunction, typeError } from "../../../core/options/checks.ts";
import { clientKeyReader, type RequestSource } from "../address/client_key.ts";
import type { Asked, Decided, Decider, PolicyPlan } from "../gate/decider.ts";
import { answerInTime } from "../gate/answer_in_time.ts";
import type { GateOptions } from "../gate/rate_limit_options.ts";
import { BAD_KEY, quotaExceeded, type Refusal, UNAVAILABLE } from "../gate/refusal.ts";
import type { RuleCall, RulesDecision } from "../gate/request_rules.ts";
import { keyCheck } from "./key_faults.ts";
import { LIMIT_OPTIONS } from "./limit_options.ts";
import { policyPlan } from "./limit_plan.ts";

/** The question to rules about a request. */
interface RulesAsked extends Asked {
  readonly call: RuleCall;
  readonly more: readonly Readonly<Record<string, string>>[];
}

/** The most combinations of policies whose plans are kept. */
const MAX_PLANS = 1_000;

/**
 * Makes the rules of a gate.
 *
 * @throws {TypeError} If `rules` are not rules, or stand beside options that the rules decide.
 */
export function rulesDecider(
  action: string,
  options: GateOptions,
  source: RequestSource<unknown, unknown>,
  notice: (error: unknown, request: unknown) => void,
): Decider<RulesAsked> {
  const { rules, descriptors, ipv6Prefix } = options;
  checkRules(action, options, source);
  // Rules may have a prefix length of their own, so they are given the whole address.
  const wholeKey = clientKeyReader({ ...options, ipv6Prefix: 128 }, source);
  const addressOf = (request: unknown, info: unknown) =>
    wholeKey(request, info)?.replace("/128", "");
  const faultOf = keyCheck(undefined, options.unknownAddress, source, notice);
  const plans = new Map<string, PolicyPlan>();

  function planOf({ id, policies }: RulesDecision): PolicyPlan {
    let plan = plans.get(id);
    if (plan === undefined) setBounded(plans, id, plan = policyPlan(policies, options), MAX_PLANS);
    return plan;
  }

  function decided(
    rules: RulesDecision | "unreadable" | undefined,
  ): Decided | Refusal | undefined {
    if (rules === undefined) return undefined;
    if (rules === "unreadable") return BAD_KEY;
    const { decision, key, lefts, violated } = rules;
    const refusal = decision.allowed ? undefined : refusalOf(decision, violated);
    const giveBack = decision.source === "policy" ? undefined : rules.refund();
    const { clock } = options.rules!;
    return {
      decision,
      key,
      policies: planOf(rules),
      lefts,
      refusal,
      clock,
      giveBack,
      release: undefined,
    };
  }

  return {
    ask(request, info, shadowed) {
      const address = addressOf(request, info);
      const fault = address === undefined ? faultOf(address, request, info, shadowed) : undefined;
      const target = source.target!(request);
      const [path, ...paths] = typeof target === "string" ? [target] : target;
      const call: RuleCall = {
        method: source.method!(request).toUpperCase(),
        path: path!,
        paths,
        ignoresCase: source.ignoresCase?.(request) === true,
        address,
        ipv6Prefix,
        header: (name) => source.header(request, name),
      };
      const refusal = fault === "admit" ? undefined : fault;
      const more = refusal === undefined ? descriptors?.(request, info) ?? [] : [];
      const asked = (more: RulesAsked["more"]): RulesAsked => (
        { request, info, shadowed, refusal, delays: false, calls: [], call, more }
      );
      return isPromise(more) ? answerInTime("descriptors", more).then(asked) : asked(more);
    },
    take({ call, more }) {
      const answer = rules!.decide(call, more, options.refund !== undefined);
      return isPromise(answer) ? answer.then(decided) : decided(answer);
    },
  };
}

function refusalOf({ source }: Decision, violated: readonly string[]): Refusal {
  return source === "policy" ? UNAVAILABLE : quotaExceeded(violated);
}

function checkRules(
  action: string,
  options: GateOptions,
  source: RequestSource<unknown, unknown>,
): void {
  const { rules, descriptors } = options;
  if (typeof rules?.decide !== "function") {
    throw typeError(action, 'rules must be those of await requestRules("rules.yaml")', rules);
  }
  if (descriptors !== undefined) checkFunction(action, "descriptors", descriptors);
  const { clock: _clock, ...others } = { ...LIMIT_OPTIONS, limits: true, maxDelay: true };
  for (const beside of Object.keys(others) as (keyof typeof others)[]) {
    if (options[beside] === undefined) continue;
    const rule = `${beside} must not stand beside rules, which decide that themselves`;
    throw typeError(action, rule, options[beside]);
  }
  if (source.method !== undefined && source.target !== undefined) return;
  throw typeError(action, "rules need a source that reads method and target", source.method);
}
