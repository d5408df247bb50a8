/*
 * The engine of every inbound adapter: from a request to a verdict.
 *
 *   request -> skip? -> limiter, key, cost -> decision -> { headers, refusal, settle }
 *
 * The adapters differ in how they read a request and how they write the verdict down, and in
 * nothing else. All checks and all that does not depend on the request are done when the gate is
 * made. With a limiter that answers at once, and options that do, the verdict is a value and no
 * promise is made.
 *
 * Keys come from clients, so nothing that they send is an error: a key that is missing, empty or no
 * text is answered with a 400. What `limiter`, `key`, `cost` and `skip` throw is the adapter's to
 * pass on, as nothing was decided; a store that cannot decide is a 503. The other functions of the
 * options change no verdict by failing: they are called by `guarded`.
 */
import { isPromise } from "../../../core/maybe_promise.ts";
import type { Decision } from "../../../core/decision.ts";
import { failureReport, guarded } from "../../../core/guarded.ts";
import { checkRateLimitOptions } from "./check_rate_limit_options.ts";
import { clientKeyOf, type RequestSource } from "../address/client_key.ts";
import { refundUnits } from "./refund_units.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import { type LimitPlan, limitPlan } from "./limit_plan.ts";
import type { AnyLimiter, Outcome, RateLimitOptions } from "./rate_limit_options.ts";
import { readHeaderForms } from "../fields/header_form.ts";
import { refundRule, settlement } from "./refund_rule.ts";
import {
  BAD_KEY,
  changedRefusal,
  GONE,
  KEY_TOO_LONG,
  type Refusal,
  refusalOf,
  UNAVAILABLE,
  UNKNOWN_ADDRESS,
} from "./refusal.ts";
import { consumeAndWait, waitUnlessAborted } from "./consume_and_wait.ts";
import { isStoreFailure } from "./is_store_failure.ts";

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

/** Decides about requests; at once if the limiter and the options answer at once. */
export type Gate<Request, Info = undefined> = (
  request: Request,
  info: Info,
) => Verdict | Promise<Verdict>;

/** A request on its way through the gate. */
interface Call<Request, Info> {
  readonly request: Request;
  readonly info: Info;
  readonly plan: LimitPlan;
  readonly key: string;
  readonly units: number;
  readonly shadowed: boolean;
}

/** Clients often choose their keys themselves, and a store keeps many. */
const LONGEST_KEY = 1_024;
/** Stores keep text: half a character is none. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const UNLIMITED: Verdict = verdictOf(undefined, [], undefined, undefined);
const NO_STORE: HeaderField = ["Cache-Control", "no-store"];

/**
 * Makes the engine of an adapter; also for frameworks that have no adapter here.
 *
 * @param options The options of `rateLimit`.
 * @param source How to read a request of the framework.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot be told in header fields.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { gate } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const decide = gate<{ from: string }>(
 *   { limiter: limiter(gcra({ limit: 1, period: "1m" })) },
 *   { address: ({ from }) => from, header: () => null, signal: () => undefined },
 * );
 *
 * assert.equal((await decide({ from: "192.0.2.7" }, undefined)).refusal, undefined);
 * assert.equal((await decide({ from: "192.0.2.7" }, undefined)).refusal?.status, 429);
 * assert.equal((await decide({ from: "192.0.2.8" }, undefined)).refusal, undefined);
 * ```
 */
export function gate<Request, Info = undefined>(
  options: RateLimitOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): Gate<Request, Info> {
  checkRateLimitOptions(options);
  const { limiter: chosen, skip, key: keyOf, cost = 1, shadow = false, onFailure } = options;
  const { jitter = 0, random = Math.random, now = Date.now } = options;
  const { headers: forms = "draft-11", exposeHeaders = false, unknownAddress } = options;
  const fixed = typeof chosen === "function" ? undefined : limitPlan(chosen, options);
  const plans = new WeakMap<AnyLimiter, LimitPlan>();
  const clientKey = clientKeyOf(options, source);
  const report = failureReport(onFailure);
  const isShadowed = typeof shadow === "function" ? guarded(shadow, report) : () => shadow;
  const partition = options.partition && guarded(options.partition, report);
  const respond = options.respond &&
    guarded(options.respond, (error, _usual, _decision, request) => report(error, request));
  const onDecision = options.onDecision &&
    guarded(options.onDecision, (error, _decision, request) => report(error, request));
  const isRefunded = refundRule(options.refund);
  const tellsTime = readHeaderForms("create rateLimit", forms).includes("legacy");

  function decide(request: Request, info: Info): Verdict | Promise<Verdict> {
    if (skip === undefined) return choose(request, info);
    const skipped = skip(request, info);
    if (!isPromise(skipped)) return skipped ? UNLIMITED : choose(request, info);
    return andThen(skipped, (skipped) => skipped ? UNLIMITED : choose(request, info));
  }

  // One option after the other: if two were asked at once, and both failed, one failure would have
  // nobody to hear of it, and end the process.
  function choose(request: Request, info: Info): Verdict | Promise<Verdict> {
    if (fixed !== undefined) return identify(request, info, fixed);
    const limiter = (chosen as Exclude<typeof chosen, AnyLimiter>)(request, info);
    if (!isPromise(limiter)) return identify(request, info, planOf(limiter));
    return andThen(limiter, (limiter) => identify(request, info, planOf(limiter)));
  }

  function planOf(limiter: AnyLimiter | undefined): LimitPlan | undefined {
    if (limiter === undefined) return undefined;
    let plan = plans.get(limiter);
    if (plan === undefined) {
      plan = limitPlan(limiter, options);
      plans.set(limiter, plan);
    }
    return plan;
  }

  function identify(
    request: Request,
    info: Info,
    plan: LimitPlan | undefined,
  ): Verdict | Promise<Verdict> {
    if (plan === undefined) return UNLIMITED;
    const key = keyOf === undefined ? clientKey(request, info) : keyOf(request, info);
    if (!isPromise(key)) return price(request, info, plan, key);
    return andThen(key, (key) => price(request, info, plan, key));
  }

  function price(
    request: Request,
    info: Info,
    plan: LimitPlan,
    key: string | null | undefined,
  ): Verdict | Promise<Verdict> {
    // A promise is not the answer `true`, and nobody is let through for one.
    const shadowed = isShadowed(request, info) === true;
    const fault = faultOf(request, info, key, shadowed);
    if (fault !== undefined) return shadowed ? UNLIMITED : fault;
    const units = typeof cost === "number" ? cost : cost(request, info);
    if (!isPromise(units)) return consume({ request, info, plan, key: key!, units, shadowed });
    return andThen(
      units,
      (units) => consume({ request, info, plan, key: key!, units, shadowed }),
    );
  }

  /** What to answer to a key that cannot be used; `undefined` if it can. */
  function faultOf(
    request: Request,
    info: Info,
    key: string | null | undefined,
    shadowed: boolean,
  ): Verdict | undefined {
    if (key === undefined && keyOf === undefined) {
      return unknownAddressVerdict(request, info, shadowed);
    }
    if (key === undefined || key === null || key === "") {
      return unknownAddress === undefined
        ? refuse(BAD_KEY)
        : unknownAddressVerdict(request, info, shadowed);
    }
    // What is no string at all is the fault of the option, and the limiter says so.
    if (keyOf === undefined || typeof key !== "string") return undefined;
    if (key.length > LONGEST_KEY) return refuse(KEY_TOO_LONG);
    return LONE_SURROGATE.test(key) ? refuse(BAD_KEY) : undefined;
  }

  function unknownAddressVerdict(request: Request, info: Info, shadowed: boolean): Verdict {
    if (unknownAddress === "admit") return UNLIMITED;
    if (unknownAddress === "refuse") return refuse(UNKNOWN_ADDRESS);
    // The address is gone with the connection, and so is whoever could be told.
    if (source.signal(request, info)?.aborted) return refuse(GONE);
    const error = new TypeError(
      "Cannot limit the rate as the address of the client must be known: give `key`, `address` " +
        "or `unknownAddress`",
    );
    if (!shadowed) throw error;
    if (onFailure !== undefined) report(error, request);
    return UNLIMITED;
  }

  function consume(call: Call<Request, Info>): Verdict | Promise<Verdict> {
    const { plan, key, units, shadowed } = call;
    try {
      if (plan.delays && !shadowed) return takeTurn(call).catch((error) => failed(call, error));
      const answer = plan.limiter.consume(key, units);
      return isPromise(answer)
        ? Promise.resolve(answer).then(
          (decision) => start(call, decision),
          (error) => failed(call, error),
        )
        : start(call, answer);
    } catch (error) {
      return failed(call, error);
    }
  }

  /** Nothing of the request's is wrong where the store cannot decide. */
  function failed({ request, shadowed }: Call<Request, Info>, error: unknown): Verdict {
    if (!isStoreFailure(error)) throw error;
    if (onFailure !== undefined) report(error, request);
    return shadowed ? UNLIMITED : refuse(UNAVAILABLE);
  }

  /** Waits until the call may start. */
  async function takeTurn(call: Call<Request, Info>): Promise<Verdict> {
    const { request, info, plan, key, units } = call;
    const signal = source.signal(request, info);
    const turn = await consumeAndWait(plan.limiter, key, units, signal, (decision) => {
      if (onDecision !== undefined) onDecision(decision, request, key);
    });
    return turn === undefined ? refuse(GONE) : writeVerdict(call, turn.decision, turn.giveBack);
  }

  /** Lets an admitted call wait that nobody knew would have to: its place stays its own. */
  function start(call: Call<Request, Info>, decision: Decision): Verdict | Promise<Verdict> {
    const { request, info, key, shadowed } = call;
    if (onDecision !== undefined) onDecision(decision, request, key);
    if (decision.delay === 0 || shadowed) return writeVerdict(call, decision);
    const waited = waitUnlessAborted(decision.delay, undefined, source.signal(request, info));
    return Promise.resolve(waited).then((isHere) =>
      isHere ? writeVerdict(call, decision) : refuse(GONE)
    );
  }

  function writeVerdict(
    call: Call<Request, Info>,
    decision: Decision,
    givePlaceBack?: () => unknown,
  ): Verdict {
    const { request, info, plan, key, units } = call;
    const { allowed, source } = decision;
    const settle = isRefunded !== undefined && allowed && units > 0 && source !== "policy"
      ? settlement(
        plan.limiter,
        givePlaceBack ?? ((passed) => refundUnits(plan.limiter, key, units, decision, passed)),
        isRefunded,
        (error) => report(error, request),
      )
      : undefined;
    if (call.shadowed) return verdictOf(decision, [], undefined, settle);
    const partitionKey = partition === undefined ? undefined : partition(request, info);
    const headers = plan.fields(decision, tellsTime ? now() : 0, partitionKey);
    if (allowed) {
      if (exposeHeaders) expose(headers);
      return verdictOf(decision, headers, undefined, settle);
    }
    if (decision.retryAfter !== Infinity) {
      const wait = decision.retryAfter + (jitter === 0 ? 0 : jitter * random());
      headers.push(["Retry-After", String(Math.max(1, Math.ceil(wait / 1000)))]);
    }
    if (exposeHeaders) expose(headers);
    headers.push(NO_STORE);
    return verdictOf(decision, headers, refusalFor(call, decision), undefined);
  }

  function refusalFor({ request, plan }: Call<Request, Info>, decision: Decision): Refusal {
    const usual = refusalOf(decision, plan.violated(decision));
    const change = respond?.(usual, decision, request);
    if (!change) return usual;
    try {
      return changedRefusal(usual, change);
    } catch (error) {
      report(error, request);
      return usual;
    }
  }

  return decide;
}

/** What comes after an option's answer: a promise, whatever kind of promise that was. */
function andThen<Value, Next>(
  answer: PromiseLike<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Promise<Next> {
  return Promise.resolve(answer).then(next);
}

/** Refuses without a decision. */
function refuse(refusal: Refusal): Verdict {
  return verdictOf(undefined, [NO_STORE], refusal, undefined);
}

/** Names the fields at hand to scripts of other origins, which see no others. */
function expose(headers: HeaderField[]): void {
  if (headers.length === 0) return;
  headers.push(["Access-Control-Expose-Headers", headers.map(([name]) => name).join(", ")]);
}

/** Every verdict is made here, so that all share one shape. */
function verdictOf(
  decision: Verdict["decision"],
  headers: Verdict["headers"],
  refusal: Verdict["refusal"],
  settle: Verdict["settle"],
): Verdict {
  return { decision, headers, refusal, settle };
}
