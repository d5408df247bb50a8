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
  errorMessage,
} from "../../../core/options/checks.ts";
import { clientKeyOf, type RequestSource } from "../address/client_key.ts";
import { readHeaderForms } from "../fields/header_form.ts";
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
  checkRateLimitOptions(options);
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

/** Checks the options that are checked nowhere else. */
function checkRateLimitOptions(options: Options): void {
  checkOptions<Options>(ACTION, options, {
    limiter: true,
    key: true,
    address: true,
    ipv6Prefix: true,
    trustedProxies: true,
    forwardedHeader: true,
    unknownAddress: true,
    cost: true,
    skip: true,
    headers: true,
    unit: true,
    exposeHeaders: true,
    partition: true,
    refund: true,
    shadow: true,
    jitter: true,
    respond: true,
    onRefused: true,
    onDecision: true,
    onFailure: true,
    random: true,
    now: true,
  });
  const { limiter, cost = 1, jitter = 0, unknownAddress, unit, refund, shadow, exposeHeaders } =
    options;
  const requireIt = (holds: boolean, rule: string, value: unknown) => {
    if (!holds) throw new TypeError(errorMessage(ACTION, rule, value));
  };
  requireIt(
    typeof limiter === "function" || typeof limiter?.consume === "function",
    "it needs a limiter, such as limiter(...)",
    limiter,
  );
  if (typeof cost !== "function") checkCost(ACTION, cost, 0);
  checkMilliseconds(ACTION, "jitter", jitter);
  if (unknownAddress !== undefined) {
    checkChoice(ACTION, "unknownAddress", unknownAddress, ["refuse", "admit"]);
  }
  if (unit !== undefined) {
    checkChoice(ACTION, "unit", unit, ["requests", "content-bytes", "concurrent-requests"]);
  }
  requireIt(
    [undefined, "failed", "successful"].includes(refund as string) || typeof refund === "function",
    'refund must be "failed" or "successful" or a function',
    refund,
  );
  requireIt(
    ["undefined", "boolean", "function"].includes(typeof shadow),
    "shadow must be a boolean or a function",
    shadow,
  );
  requireIt(
    ["undefined", "boolean"].includes(typeof exposeHeaders),
    "exposeHeaders must be a boolean",
    exposeHeaders,
  );
  for (const option of FUNCTIONS) {
    if (options[option] !== undefined) checkFunction(ACTION, option, options[option]);
  }
}

const FUNCTIONS = [
  "key",
  "skip",
  "partition",
  "respond",
  "onRefused",
  "onDecision",
  "onFailure",
  "random",
  "now",
] as const;
