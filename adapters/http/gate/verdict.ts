/*
 * What the gate decides about a request, for the adapter to carry out: the header fields, the
 * refusal, and what settles an admitted request at its end.
 */
import type { Decision } from "../../../core/decision.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../../../core/maybe_promise.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import { retryAfterField } from "../fields/retry_after.ts";
import type { GateSettings } from "./gate_settings.ts";
import type { LimitPlan } from "./limit_plan.ts";
import type { Outcome } from "./rate_limit_options.ts";
import { refundUnits, settlement } from "./refunds.ts";
import { changedRefusal, type Refusal, refusalOf } from "./refusal.ts";

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

/** A request whose limiter, key and cost are known. */
export interface GateCall {
  readonly request: unknown;
  readonly info: unknown;
  readonly plan: LimitPlan;
  readonly key: string;
  readonly units: number;
  readonly shadowed: boolean;
}

/** Refusals are never cached. */
const NO_STORE: HeaderField = ["Cache-Control", "no-store"];
/** For how long a refused client waits for `respond`, in milliseconds. */
const RESPOND_WITHIN = 1_000;

/** The verdict on a request that is not limited. */
export const UNLIMITED: Verdict = verdictOf(undefined, [], undefined, undefined);

/** Every verdict is made here, so that all share one shape. */
function verdictOf(
  decision: Verdict["decision"],
  headers: Verdict["headers"],
  refusal: Verdict["refusal"],
  settle: Verdict["settle"],
): Verdict {
  return { decision, headers, refusal, settle };
}

/** Refuses without a decision. */
export function refuse(refusal: Refusal): Verdict {
  return verdictOf(undefined, [NO_STORE], refusal, undefined);
}

/**
 * The verdict that a decision makes.
 *
 * @param givePlaceBack How to give the call's place in a queue back, if it has one.
 */
export function verdictOn(
  settings: GateSettings,
  call: GateCall,
  decision: Decision,
  givePlaceBack?: () => unknown,
): MaybePromise<Verdict> {
  const settle = settleOf(settings, call, decision, givePlaceBack);
  if (call.shadowed) return verdictOf(decision, [], undefined, settle);
  const headers = limitFields(settings, call, decision);
  if (decision.allowed) return verdictOf(decision, headers, undefined, settle);
  headers.push(NO_STORE);
  return andThen(
    refusalFor(settings, call, decision),
    (refusal) => verdictOf(decision, headers, refusal, undefined),
  );
}

/** What settles an admitted request at its end; `undefined` if it has nothing to be given back. */
function settleOf(
  { refund, report }: GateSettings,
  { request, info, plan: { limiter }, key, units }: GateCall,
  decision: Decision,
  givePlaceBack: (() => unknown) | undefined,
): Verdict["settle"] {
  if (refund === undefined || !decision.allowed) return undefined;
  if (units <= 0 || decision.source === "policy") return undefined;
  return settlement(
    limiter,
    givePlaceBack ?? ((passed) => refundUnits(limiter, key, units, decision, passed)),
    (outcome) => refund(outcome, request, info),
    (error) => report(error, request),
  );
}

function limitFields(
  { partition, now, jitter, random, exposeHeaders }: GateSettings,
  { request, info, plan }: GateCall,
  decision: Decision,
): HeaderField[] {
  const { allowed, retryAfter } = decision;
  const headers = plan.fields(decision, now?.() ?? 0, partition?.(request, info));
  if (!allowed && retryAfter !== Infinity) {
    headers.push(retryAfterField(retryAfter + (jitter === 0 ? 0 : jitter * random())));
  }
  // Scripts of other origins see only fields that are named to them.
  if (exposeHeaders && headers.length > 0) {
    headers.push(["Access-Control-Expose-Headers", headers.map(([name]) => name).join(", ")]);
  }
  return headers;
}

function refusalFor(
  { respond, report }: GateSettings,
  { request, info, plan }: GateCall,
  decision: Decision,
): MaybePromise<Refusal> {
  const usual = refusalOf(decision, plan.violated(decision));
  if (respond === undefined) return usual;
  return orElse(() => {
    const answer = respond(usual, decision, request, info);
    const change = isPromise(answer) ? withTimeout(answer, RESPOND_WITHIN, respondLate) : answer;
    return andThen(change, (change) => changedRefusal(usual, change));
  }, (error) => {
    report(error, request);
    return usual;
  });
}

function respondLate(): never {
  throw new Error(
    `Cannot answer a refused client by respond as it must answer within ${RESPOND_WITHIN} ms`,
  );
}
