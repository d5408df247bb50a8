/*
 * What the gate decides about a request, for the adapter to carry out: the header fields, the
 * refusal, and what settles an admitted request at its end.
 */
import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import type { Decision } from "../../../core/decision.ts";
import { guarded } from "../../../core/guarded.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../../../core/maybe_promise.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import {
  distinctNames,
  type HeaderField,
  type HeaderWriter,
  headerWriter,
  readHeaderForms,
  retryAfterField,
} from "../fields/header_writer.ts";
import { nativePromise } from "../native_promise.ts";
import type { AnyLimiter, Awaitable, Outcome, RateLimitOptions } from "./rate_limit_options.ts";
import { refundOf, refundRule, settlement } from "./refunds.ts";
import { changedRefusal, quotaExceeded, type Refusal, UNAVAILABLE } from "./refusal.ts";

/** What becomes of a request. */
export interface Verdict {
  /** The decision; `undefined` if the request was not limited. */
  readonly decision: Decision | undefined;
  /** Header fields for the response, be it the handler's or the refusal. */
  readonly headers: readonly HeaderField[];
  /** What to answer in place of the handler; `undefined` lets the request through. */
  readonly refusal: Refusal | undefined;
  /** To be called with how an admitted request ended; `undefined` if nothing depends on it. */
  readonly settle: ((outcome: Outcome) => void) | undefined;
}

/** What is worked out once for each limiter. */
export interface LimitPlan {
  readonly limiter: AnyLimiter;
  /** Whether admitted calls may have to wait for their start. */
  readonly delays: boolean;
  /** The names of the policies. */
  readonly names: readonly string[];
  readonly write: HeaderWriter;
  /** The answer where all policies refuse. */
  readonly refusal: Refusal;
}

/** A request whose limiter, key and cost are known. */
export interface GateCall {
  readonly request: unknown;
  readonly info: unknown;
  readonly plan: LimitPlan;
  readonly key: string;
  readonly units: number;
  readonly shadowed: boolean;
}

type Options = RateLimitOptions<unknown, unknown>;

/** Refusals are never cached. */
const NO_STORE: HeaderField = ["Cache-Control", "no-store"];
/** For how long a refused client waits for `respond`, in milliseconds. */
const RESPOND_WITHIN = 1_000;

/** The verdict on a request that is not limited. */
export const UNLIMITED: Verdict = {
  decision: undefined,
  headers: [],
  refusal: undefined,
  settle: undefined,
};

/** Refuses without a decision, by a copy: requests share the refusal, and a callback may change it. */
export function refuse(refusal: Refusal): Verdict {
  return { ...UNLIMITED, headers: [NO_STORE], refusal: { ...refusal } };
}

/**
 * Works out a limiter's plan.
 *
 * @throws {RangeError} If a policy cannot stand in header fields, such as a name with a line
 * break.
 */
export function limitPlan(limiter: AnyLimiter, options: Options): LimitPlan {
  const { policies } = limiter.algorithm;
  const names = distinctNames(policies);
  return {
    limiter,
    delays: mayDelay(limiter.algorithm),
    names,
    write: headerWriter(policies, options),
    // Of most limiters the only refusal by a decision; JSON takes a fifth of the time of refusing.
    refusal: quotaExceeded(names),
  };
}

/**
 * Makes what turns decisions into verdicts.
 *
 * @param report Given what the functions of the options throw, or reject with.
 */
export function judge(options: Options, report: (error: unknown, request: unknown) => void) {
  const { exposeHeaders = false, jitter = 0, random = Math.random, respond } = options;
  const refund = refundRule(options.refund);
  const partition = options.partition && guarded(options.partition, report);
  const forms = readHeaderForms("create rateLimit", options.headers);
  // Only this form needs the time.
  const now = forms.includes("legacy") ? options.now ?? Date.now : () => 0;

  function limitFields(
    { request, info, plan: { names, write } }: GateCall,
    decision: Decision,
    parts: readonly Decision[] | undefined,
  ): HeaderField[] {
    const { allowed, retryAfter } = decision;
    const headers = parts !== undefined && parts.length === names.length
      ? write(parts, now(), partition?.(request, info))
      : [];
    if (!allowed && retryAfter !== Infinity && forms.length > 0) {
      headers.push(retryAfterField(retryAfter + (jitter === 0 ? 0 : jitter * random())));
    }
    // Scripts of other origins see only fields that are named to them.
    if (exposeHeaders && headers.length > 0) {
      headers.push(["Access-Control-Expose-Headers", headers.map(([name]) => name).join(", ")]);
    }
    return headers;
  }

  function refusalFor(
    { request, info, plan }: GateCall,
    decision: Decision,
    parts: readonly Decision[] | undefined,
  ): MaybePromise<Refusal> {
    const usual = parts === undefined ? UNAVAILABLE : refusalBy(plan, parts);
    if (respond === undefined) return usual;
    return orElse(() => {
      const answer = respond({ ...usual }, decision, request, info);
      const change = isPromise(answer) ? withTimeout(answer, RESPOND_WITHIN, respondLate) : answer;
      return andThen(change, (change) => changedRefusal(usual, change));
    }, (error) => {
      report(error, request);
      return usual;
    });
  }

  /** What settles an admitted request at its end; `undefined` if it has nothing to be given back. */
  function settleOf(
    { request, info, plan: { limiter }, key, units }: GateCall,
    decision: Decision,
    freshAt: number | undefined,
  ): Verdict["settle"] {
    if (refund === undefined || !decision.allowed) return undefined;
    if (units <= 0 || decision.source === "policy") return undefined;
    return settlement(
      refundOf(limiter, key, units, decision, freshAt),
      (outcome) => refund(outcome, request, info),
      (error) => report(error, request),
    );
  }

  /**
   * The verdict that a decision makes.
   *
   * @param freshAt When the key was to be fresh after the call, if that took a place in a queue.
   */
  return function verdictOn(
    call: GateCall,
    decision: Decision,
    freshAt?: number,
  ): Awaitable<Verdict> {
    const settle = settleOf(call, decision, freshAt);
    if (call.shadowed) return { decision, headers: [], refusal: undefined, settle };
    // The failure policy's answers say nothing about the limit.
    const parts = decision.source === "policy" ? undefined : flatParts(decision);
    const headers = limitFields(call, decision, parts);
    if (decision.allowed) return { decision, headers, refusal: undefined, settle };
    headers.push(NO_STORE);
    const refusal = refusalFor(call, decision, parts);
    return nativePromise(
      andThen(refusal, (shared) => ({ decision, headers, refusal: { ...shared }, settle })),
    );
  };
}

function refusalBy({ names, refusal }: LimitPlan, parts: readonly Decision[]): Refusal {
  const violated = names.filter((_, index) => parts[index]?.allowed === false);
  return violated.length === names.length ? refusal : quotaExceeded(violated);
}

/** The decision of each policy, in the order of the policies; an `all` within an `all` unfolded. */
function flatParts(decision: Decision): readonly Decision[] {
  return decision.parts === undefined ? [decision] : decision.parts.flatMap(flatParts);
}

function respondLate(): never {
  throw new Error(
    `Cannot answer a refused client by respond as it must answer within ${RESPOND_WITHIN} ms`,
  );
}
