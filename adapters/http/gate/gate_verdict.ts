/*
 * The gate's verdict about a request, for the adapter to carry out: the header fields, the
 * refusal, and what settles an admitted request at its end.
 */
import type { Decision } from "../../../core/decision.ts";
import { guarded } from "../../../core/guarded.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import { type HeaderField, readHeaderForms, retryAfterField } from "../fields/header_writer.ts";
import type { Asked, Decided } from "./decider.ts";
import type { Awaitable, GateOptions, Outcome } from "./rate_limit_options.ts";
import { refundRule, settlement } from "./refunds.ts";
import { changedRefusal, quotaExceeded, type Refusal, UNAVAILABLE } from "./refusal.ts";

/** The outcome of a request. */
export interface GateVerdict {
  /** The decision; `undefined` if the request was not limited. */
  readonly decision: Decision | undefined;
  /** Header fields for the response, whether it is the handler's response or the refusal. */
  readonly headers: readonly HeaderField[];
  /** The answer in place of the handler's; `undefined` lets the request through. */
  readonly refusal: Refusal | undefined;
  /**
   * To be called with the outcome of an admitted request; `undefined` if nothing depends on the
   * outcome.
   */
  readonly settle: ((outcome: Outcome) => void) | undefined;
  /**
   * To be called when the response has ended in any way, or will never end: it releases the permits
   * that the request holds. A second call does nothing. `undefined` if the request holds no
   * permits.
   */
  readonly release: (() => void) | undefined;
}

type Options = GateOptions;

/** Refusals are never cached. */
const NO_STORE: HeaderField = ["Cache-Control", "no-store"];
/** How long a refused client waits for `respond`, in milliseconds. */
const RESPOND_WITHIN = 1_000;

/** The verdict on a request that is not limited. */
export const UNLIMITED: GateVerdict = {
  decision: undefined,
  headers: [],
  refusal: undefined,
  settle: undefined,
  release: undefined,
};

/**
 * Refuses without a decision. It copies the refusal, because requests share it and a callback may
 * change it.
 */
export function refuse(refusal: Refusal): GateVerdict {
  return { ...UNLIMITED, headers: [NO_STORE], refusal: { ...refusal } };
}

/**
 * Makes the function that turns decisions into verdicts.
 *
 * @param report Receives the errors that functions of the options throw or reject with.
 */
export function verdictMaker(
  options: Options,
  report: (error: unknown, request: unknown) => void,
) {
  const { exposeHeaders = false, jitter = 0, random = Math.random, respond } = options;
  const refund = refundRule(options.refund);
  const partition = options.partition && guarded(options.partition, report);
  const forms = readHeaderForms("create rateLimit", options.headers);
  const { clock } = options;

  function limitFields({ request, info }: Asked, decided: Decided): HeaderField[] {
    const { decision, policies: { names, write, timed }, lefts } = decided;
    const headers = names.length > 0 && lefts.length === names.length && areKnown(lefts)
      ? write(lefts, timed ? nowOf(decided) : 0, partition?.(request, info))
      : [];
    // These are separate functions, because engines inline only small functions, and most requests
    // need neither.
    if (!decision.allowed) addRetryAfter(headers, decision);
    if (exposeHeaders) expose(headers);
    return headers;
  }

  function nowOf(decided: Decided): number {
    return (clock ?? decided.clock ?? Date.now)();
  }

  function addRetryAfter(headers: HeaderField[], { retryAfter }: Decision): void {
    if (retryAfter === Infinity || forms.length === 0) return;
    headers.push(retryAfterField(retryAfter + (jitter === 0 ? 0 : jitter * random())));
  }

  /** The refusal that `respond` makes of the usual one. */
  async function respondedBy(
    respond: NonNullable<Options["respond"]>,
    { request, info }: Asked,
    { decision }: Decided,
    usual: Refusal,
  ): Promise<Refusal> {
    try {
      const answer = respond({ ...usual }, decision, request, info);
      const change = isPromise(answer) ? withTimeout(answer, RESPOND_WITHIN, respondLate) : answer;
      return changedRefusal(usual, await change);
    } catch (error) {
      report(error, request);
      return usual;
    }
  }

  /** Settles an admitted request at its end; `undefined` if there is nothing to give back. */
  function settleOf(
    { request, info }: Asked,
    { decision, giveBack }: Decided,
  ): GateVerdict["settle"] {
    if (refund === undefined || giveBack === undefined || !decision.allowed) return undefined;
    return settlement(
      giveBack,
      (outcome) => refund(outcome, request, info),
      (error) => report(error, request),
    );
  }

  /** The verdict that follows from a decision. */
  return function verdictOn(call: Asked, decided: Decided): Awaitable<GateVerdict> {
    const { decision, release } = decided;
    const settle = settleOf(call, decided);
    if (call.shadowed) return { decision, headers: [], refusal: undefined, settle, release };
    const headers = limitFields(call, decided);
    if (decision.allowed) return { decision, headers, refusal: undefined, settle, release };
    return refusedBy(call, decided, headers);
  };

  function refusedBy(
    call: Asked,
    decided: Decided,
    headers: HeaderField[],
  ): Awaitable<GateVerdict> {
    const { decision, release } = decided;
    headers.push(NO_STORE);
    const usual = refusalBy(decided);
    const refused = (shared: Refusal): GateVerdict => (
      { decision, headers, refusal: { ...shared }, settle: undefined, release }
    );
    return respond === undefined
      ? refused(usual)
      : respondedBy(respond, call, decided, usual).then(refused);
  }
}

/** Names all fields to scripts of other origins, which see only named fields. */
function expose(headers: HeaderField[]): void {
  if (headers.length === 0) return;
  headers.push(["Access-Control-Expose-Headers", headers.map(([name]) => name).join(", ")]);
}

function refusalBy({ policies: { names, refusal }, lefts, refusal: own }: Decided): Refusal {
  if (own !== undefined) return own;
  const violated = names.filter((_, index) => lefts[index]?.allowed === false);
  if (violated.length === names.length) return refusal;
  // Only the failure policy refused, and its answers say nothing about the limit.
  return violated.length === 0 && !areKnown(lefts) ? UNAVAILABLE : quotaExceeded(violated);
}

function areKnown(lefts: readonly (Decision | undefined)[]): lefts is readonly Decision[] {
  for (let index = 0; index < lefts.length; index++) {
    if (lefts[index] === undefined) return false;
  }
  return true;
}

function respondLate(): never {
  throw new Error(
    `Cannot answer a refused client with respond as it must return within ${RESPOND_WITHIN} ms`,
  );
}
