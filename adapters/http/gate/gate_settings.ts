/*
 * The options of a gate, read once: checked, with their defaults, and with what users gave us made
 * safe to call. The functions that decide about a request take them as a value.
 */
import type { Decision } from "../../../core/decision.ts";
import { failureReport, guarded } from "../../../core/guarded.ts";
import type { MaybePromise } from "../../../core/maybe_promise.ts";
import { clientKeyOf, type RequestSource } from "../address/client_key.ts";
import { readHeaderForms } from "../fields/header_form.ts";
import { checkRateLimitOptions } from "./check_rate_limit_options.ts";
import { type LimitPlan, limitPlan } from "./limit_plan.ts";
import type { AnyLimiter, RateLimitOptions } from "./rate_limit_options.ts";
import type { Refusal } from "./refusal.ts";
import { type RefundRule, refundRule } from "./refund_rule.ts";

type Options<Request, Info> = RateLimitOptions<Request, Info>;

/** What a gate decides by. Its shape is the same for all gates, so that reading it is fast. */
export interface GateSettings<Request, Info> {
  readonly source: RequestSource<Request, Info>;
  readonly skip: Options<Request, Info>["skip"];
  /** Chooses a limiter; `undefined` if there is but one. */
  readonly choose: Exclude<Options<Request, Info>["limiter"], AnyLimiter> | undefined;
  /** The plan of the only limiter. */
  readonly plan: LimitPlan | undefined;
  readonly planOf: (limiter: AnyLimiter) => LimitPlan;
  /** Whose units: by the option `key`, or by the client's address. */
  readonly keyOf: (request: Request, info: Info) => MaybePromise<string | null | undefined>;
  readonly keyIsAddress: boolean;
  readonly unknownAddress: Options<Request, Info>["unknownAddress"];
  readonly cost: NonNullable<Options<Request, Info>["cost"]>;
  readonly isShadowed: (request: Request, info: Info) => boolean | undefined;
  readonly onDecision: Options<Request, Info>["onDecision"];
  readonly isRefunded: RefundRule | undefined;
  readonly partition: ((request: Request, info: Info) => string | undefined) | undefined;
  readonly respond:
    | ((usual: Refusal, decision: Decision, request: Request) => Partial<Refusal> | undefined)
    | undefined;
  readonly exposeHeaders: boolean;
  readonly jitter: number;
  readonly random: () => number;
  /** The time, if a header field needs it. */
  readonly now: (() => number) | undefined;
  /** Reports what a callback throws, or prints the first failure. */
  readonly report: (error: unknown, request: Request) => void;
  /** Reports to `onFailure` what is answered anyway, and is not printed without it. */
  readonly notice: (error: unknown, request: Request) => void;
}

/**
 * Reads the options of a gate.
 *
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function gateSettings<Request, Info>(
  options: RateLimitOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): GateSettings<Request, Info> {
  checkRateLimitOptions(options);
  const { limiter, key, cost = 1, headers = "draft-11", onFailure } = options;
  const plan = typeof limiter === "function" ? undefined : limitPlan(limiter, options);
  const clientKey = clientKeyOf(options, source);
  const report = failureReport(onFailure);
  const plans = new WeakMap<AnyLimiter, LimitPlan>();
  const needsTime = readHeaderForms("create rateLimit", headers).includes("legacy");
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
    cost,
    ...safeCallbacks(options, report),
    isRefunded: refundRule(options.refund),
    exposeHeaders: options.exposeHeaders ?? false,
    jitter: options.jitter ?? 0,
    random: options.random ?? Math.random,
    now: needsTime ? options.now ?? Date.now : undefined,
    report,
    notice: onFailure === undefined ? () => {} : report,
  };
}

/** The callbacks that change no verdict by failing. */
function safeCallbacks<Request, Info>(
  { shadow = false, partition, respond, onDecision }: RateLimitOptions<Request, Info>,
  report: (error: unknown, request: Request) => void,
) {
  return {
    isShadowed: typeof shadow === "function" ? guarded(shadow, report) : () => shadow,
    partition: partition && guarded(partition, report),
    respond: respond &&
      guarded(respond, (error, _usual, _decision, request) => report(error, request)),
    onDecision: onDecision &&
      guarded(onDecision, (error, _decision, request) => report(error, request)),
  };
}
