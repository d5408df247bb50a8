/*
 * The options of a gate, read once: checked, with their defaults, and with what users gave us made
 * safe to call. The functions that decide about a request take them as a value.
 */
import { failureReport, guarded } from "../../../core/guarded.ts";
import type { MaybePromise } from "../../../core/maybe_promise.ts";
import {
  checkChoice,
  checkCost,
  checkFunction,
  checkMilliseconds,
  checkOptions,
  type OptionCheck,
  type OptionNames,
  typeError,
} from "../../../core/options/checks.ts";
import { clientKeyOf, type RequestSource } from "../address/client_key.ts";
import { readHeaderForms } from "../fields/header_writer.ts";
import { type LimitPlan, limitPlan } from "./limit_plan.ts";
import type { AnyLimiter, RateLimitOptions } from "./rate_limit_options.ts";
import { type RefundRule, refundRule } from "./refund_rule.ts";

/** The options of any adapter: only their functions know what a request is. */
type Options = RateLimitOptions<unknown, unknown>;

/** What a gate decides by. Its shape is the same for all gates, so that reading it is fast. */
export interface GateSettings
  extends
    Pick<Options, "skip" | "unknownAddress" | "onDecision" | "respond">,
    Pick<Required<Options>, "exposeHeaders" | "jitter"> {
  readonly source: RequestSource<unknown, unknown>;
  /** Chooses a limiter; `undefined` if there is but one. */
  readonly choose: Exclude<Options["limiter"], AnyLimiter> | undefined;
  /** The plan of the only limiter. */
  readonly plan: LimitPlan | undefined;
  readonly planOf: (limiter: AnyLimiter) => LimitPlan;
  /** Whose units: by the option `key`, or by the client's address. */
  readonly keyOf: (request: unknown, info: unknown) => MaybePromise<string | null | undefined>;
  readonly keyIsAddress: boolean;
  readonly cost: NonNullable<Options["cost"]>;
  readonly isShadowed: (request: unknown, info: unknown) => boolean | undefined;
  readonly refund: RefundRule | undefined;
  readonly partition: ((request: unknown, info: unknown) => string | undefined) | undefined;
  readonly random: () => number;
  /** The time, if a header field needs it. */
  readonly now: (() => number) | undefined;
  /** Reports what a callback throws, or prints the first failure. */
  readonly report: (error: unknown, request: unknown) => void;
  /** Reports to `onFailure` what is answered anyway, and is not printed without it. */
  readonly notice: (error: unknown, request: unknown) => void;
}

const ACTION = "create rateLimit";

/**
 * Reads the options of a gate.
 *
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function gateSettings(
  options: Options,
  source: RequestSource<unknown, unknown>,
): GateSettings {
  checkOptions<Options>(ACTION, options, GATE_OPTIONS);
  if (typeof options.limiter !== "function" && typeof options.limiter?.consume !== "function") {
    throw typeError(ACTION, "it needs a limiter, such as limiter(...)", options.limiter);
  }
  const { limiter, key, headers = "draft-11", shadow = false, onFailure } = options;
  const { partition, onDecision } = options;
  const plan = typeof limiter === "function" ? undefined : limitPlan(limiter, options);
  const { address, ipv6Prefix, trustedProxies, forwardedHeader } = options;
  const clientKey = clientKeyOf({ address, ipv6Prefix, trustedProxies, forwardedHeader }, source);
  const report = failureReport(onFailure);
  const plans = new WeakMap<AnyLimiter, LimitPlan>();
  const needsTime = readHeaderForms(ACTION, headers).includes("legacy");
  return {
    source,
    skip: options.skip,
    choose: typeof limiter === "function" ? limiter : undefined,
    plan,
    planOf(limiter) {
      let plan = plans.get(limiter);
      if (plan === undefined) plans.set(limiter, plan = limitPlan(limiter, options));
      return plan;
    },
    keyOf: key ?? clientKey,
    keyIsAddress: key === undefined,
    unknownAddress: options.unknownAddress,
    cost: options.cost ?? 1,
    isShadowed: typeof shadow === "function" ? guarded(shadow, report) : () => shadow,
    partition: partition && guarded(partition, report),
    respond: options.respond,
    onDecision: onDecision &&
      guarded(onDecision, (error, _decision, request) => report(error, request)),
    refund: refundRule(options.refund),
    exposeHeaders: options.exposeHeaders ?? false,
    jitter: options.jitter ?? 0,
    random: options.random ?? Math.random,
    now: needsTime ? options.now ?? Date.now : undefined,
    report,
    notice: onFailure === undefined ? () => {} : report,
  };
}

/** The options of a gate, with the checks of those that are checked nowhere else. */
export const GATE_OPTIONS: OptionNames<Options> = {
  limiter: true,
  key: checkFunction,
  address: true,
  ipv6Prefix: true,
  trustedProxies: true,
  forwardedHeader: true,
  unknownAddress: oneOf("refuse", "admit"),
  cost(action, _option, value) {
    if (typeof value !== "function") checkCost(action, value as number, 0);
  },
  skip: checkFunction,
  headers: true,
  unit: oneOf("requests", "content-bytes", "concurrent-requests"),
  exposeHeaders: ofType("a boolean", "boolean"),
  partition: checkFunction,
  refund(action, option, value) {
    if (value === "failed" || value === "successful" || typeof value === "function") return;
    throw typeError(action, `${option} must be "failed" or "successful" or a function`, value);
  },
  shadow: ofType("a boolean or a function", "boolean", "function"),
  jitter: checkMilliseconds,
  respond: checkFunction,
  onRefused: checkFunction,
  onDecision: checkFunction,
  onFailure: checkFunction,
  random: checkFunction,
  now: checkFunction,
};

function oneOf(...choices: readonly string[]): OptionCheck {
  return (action, option, value) => checkChoice(action, option, value, choices);
}

function ofType(what: string, ...types: readonly string[]): OptionCheck {
  return (action, option, value) => {
    if (!types.includes(typeof value)) throw typeError(action, `${option} must be ${what}`, value);
  };
}
