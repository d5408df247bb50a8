/*
 * Takes a request's units, and holds the request back for as long as a limit delays it. A store that
 * cannot decide becomes a refusal here, not an error of the request.
 */

import { isStoreError } from "../../../core/errors.ts";
import { guarded } from "../../../core/guarded.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { sleep } from "../../../core/sleep.ts";
import type { RequestSource } from "../address/client_key.ts";
import type { AnyDecider, Asked, Decided } from "./decider.ts";
import type { Awaitable, GateOptions } from "./rate_limit_options.ts";
import { GONE, type Refusal, UNAVAILABLE } from "./refusal.ts";
import { type GateVerdict, refuse, UNLIMITED, verdictMaker } from "./gate_verdict.ts";

type Report = (error: unknown, request: unknown) => void;

/**
 * Makes the function that takes a request's units and returns the verdict once the request may
 * start: at once if the store answers at once and the call need not wait.
 *
 * @param report Receives the errors that functions of the options throw or reject with.
 * @param notice Receives the error of a store that cannot decide, which is not the request's fault.
 */
export function callStarter(
  decider: AnyDecider,
  options: GateOptions,
  source: Pick<RequestSource<unknown, unknown>, "signal">,
  report: Report,
  notice: Report,
): (call: Asked) => Awaitable<GateVerdict> {
  const verdictOn = verdictMaker(options, report);
  const onDecision = options.onDecision &&
    guarded(options.onDecision, (error, _decision, request) => report(error, request));

  function take(call: Asked): Awaitable<GateVerdict> {
    const { request, info, delays, shadowed } = call;
    // Some servers never abort a signal whose first reader comes after the client has gone away.
    const signal = delays && !shadowed ? source.signal(request, info) : undefined;
    if (signal?.aborted) return refuse(GONE);
    try {
      const answer = decider.take(call);
      // A library may have replaced `Promise`, but async functions still return the runtime's own
      // promises.
      return isPromise(answer)
        ? Promise.resolve(answer).then((decided) => start(call, decided, signal)).catch((error) =>
          failed(call, error)
        )
        : start(call, answer, signal);
    } catch (error) {
      return failed(call, error);
    }
  }

  function failed({ request, shadowed }: Asked, error: unknown): GateVerdict {
    if (!isStoreError(error)) throw error;
    notice(error, request);
    return shadowed ? UNLIMITED : refuse(UNAVAILABLE);
  }

  function start(
    call: Asked,
    decided: Decided | Refusal | undefined,
    signal: AbortSignal | undefined,
  ): Awaitable<GateVerdict> {
    if (decided === undefined) return UNLIMITED;
    if (!isDecided(decided)) return call.shadowed ? UNLIMITED : refuse(decided);
    const { decision, key } = decided;
    onDecision?.(decision, call.request, key);
    try {
      if (decision.delay === 0 || call.shadowed) return verdictOn(call, decided);
    } catch (error) {
      decided.release?.();
      throw error;
    }
    return waitForTurn(call, decided, signal);
  }

  /**
   * Waits out the delay of a call that is admitted. (`acquire` would also wait for the admission,
   * but a server must refuse.)
   *
   * If the client goes away in the meantime, its place is given back if it is the newest. Any other
   * place stays charged.
   */
  async function waitForTurn(
    call: Asked,
    decided: Decided,
    known: AbortSignal | undefined,
  ): Promise<GateVerdict> {
    const { request, info, delays } = call;
    const { clock, decision, giveBack, release } = decided;
    const signal = known ?? source.signal(request, info);
    if (await sleep(clock, decision.delay, signal)) return verdictOn(call, decided);
    release?.();
    if (delays) await giveBack?.();
    return refuse(GONE);
  }

  return (call) => {
    const verdict = take(call);
    // An async function returns the runtime's own promise.
    return isPromise(verdict) ? Promise.resolve(verdict) : verdict;
  };
}

function isDecided(answer: Decided | Refusal): answer is Decided {
  return (answer as Decided).decision !== undefined;
}
