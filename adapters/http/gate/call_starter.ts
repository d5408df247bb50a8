/*
 * Takes a request's units, and holds the request back for as long as the limiter delays it. A
 * store that cannot decide becomes a refusal here, not an error of the request.
 */

import type { Decision } from "../../../core/decision.ts";
import { isStoreError } from "../../../core/errors.ts";
import { guarded } from "../../../core/guarded.ts";
import { internalsOf, type LimiterInternals } from "../../../core/limiter/limiter.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { sleep } from "../../../core/sleep.ts";
import { attempt } from "../../../core/verbs/attempt.ts";
import type { RequestSource } from "../address/client_key.ts";
import type { Awaitable, RateLimitOptions } from "./rate_limit_options.ts";
import { refundOf } from "./refunds.ts";
import { GONE, UNAVAILABLE } from "./refusal.ts";
import { type GateCall, judge, refuse, UNLIMITED, type Verdict } from "./verdict.ts";

type Report = (error: unknown, request: unknown) => void;

/**
 * Makes the function that takes a request's units and returns the verdict once the request may
 * start: at once if the limiter answers at once and the call need not wait.
 *
 * @param report Given what the functions of the options throw, or reject with.
 * @param notice Given the error of a store that cannot decide, which is not the request's fault.
 */
export function callStarter(
  options: RateLimitOptions<unknown, unknown>,
  source: RequestSource<unknown, unknown>,
  report: Report,
  notice: Report,
): (call: GateCall) => Awaitable<Verdict> {
  const verdictOn = judge(options, report);
  const onDecision = options.onDecision &&
    guarded(options.onDecision, (error, _decision, request) => report(error, request));

  function consume(call: GateCall): Awaitable<Verdict> {
    const { plan: { delays, limiter }, key, units, shadowed } = call;
    const internals = delays && !shadowed ? internalsOf(limiter) : undefined;
    try {
      if (internals !== undefined) {
        // A library may have replaced Promise: async functions still answer by the runtime's own.
        return Promise.resolve(waitForTurn(call, internals)).catch((error) => failed(call, error));
      }
      const answer = limiter.consume(key, units);
      return isPromise(answer)
        ? Promise.resolve(answer).then((decision) => start(call, decision)).catch((error) =>
          failed(call, error)
        )
        : start(call, answer);
    } catch (error) {
      return failed(call, error);
    }
  }

  function failed({ request, shadowed }: GateCall, error: unknown): Verdict {
    if (!isStoreError(error)) throw error;
    notice(error, request);
    return shadowed ? UNLIMITED : refuse(UNAVAILABLE);
  }

  /** Waits out the delay of a decision, if any. A client that goes away stays charged here. */
  function start(call: GateCall, decision: Decision): Awaitable<Verdict> {
    const { request, info, key, shadowed } = call;
    onDecision?.(decision, request, key);
    if (decision.delay === 0 || shadowed) return verdictOn(call, decision);
    return sleep(undefined, decision.delay, source.signal(request, info)).then((isHere) =>
      isHere ? verdictOn(call, decision) : refuse(GONE)
    );
  }

  /**
   * Decides at once, as `consume` does, and if the call is admitted waits out its delay. (`acquire`
   * would wait for the admission as well, where a server must refuse.)
   *
   * If the client goes away in the meantime, its place is given back if it is the newest. Any other
   * stays charged.
   */
  async function waitForTurn(
    call: GateCall,
    { call: run, report, clock }: LimiterInternals,
  ): Promise<Verdict> {
    const { request, info, plan: { limiter }, key, units } = call;
    const signal = source.signal(request, info);
    if (signal?.aborted) return refuse(GONE);
    const { decision, sight } = await run(attempt, key, { cost: units, maxDelay: Infinity });
    // A failure policy answers without the state: there is no place to give back then.
    const freshAt = sight?.freshAt ?? 0;
    report(decision, key, units);
    onDecision?.(decision, request, key);
    if (decision.delay === 0 || await sleep(clock, decision.delay, signal)) {
      return verdictOn(call, decision, freshAt);
    }
    await refundOf(limiter, key, units, decision, freshAt)();
    return refuse(GONE);
  }

  return consume;
}
