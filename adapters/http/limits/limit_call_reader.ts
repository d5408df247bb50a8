/*
 * Reads from a request what it takes from one limit: the limiter, the key and the cost.
 *
 * Each step calls a function of the options, which may return a promise. The steps run one after
 * another. If two ran at once and both failed, nobody would handle the second failure, and it would
 * end the process.
 */

import { isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import { typeError } from "../../../core/options/checks.ts";
import type { RequestSource } from "../address/client_key.ts";
import { answerInTime } from "../gate/answer_in_time.ts";
import { hasCallOn, type LimitCall, refusedCall, withMore } from "./limit_call.ts";
import { freshLimiterNotice } from "./fresh_limiters.ts";
import { type KeyCheck, keyCheck, type MissingKey, type UnknownAddress } from "./key_faults.ts";
import type { AnyLimiter, GivenLimit } from "./limit_options.ts";
import { limiterByNumbers } from "./limiter_maker.ts";
import type { LimitPlan, NextPlan } from "./limit_plan.ts";
import { policyLimiter } from "./policy_limiter.ts";

/** How a gate reads what limits need of a request. */
export interface LimitsSource extends Pick<RequestSource<unknown, unknown>, "signal"> {
  /** The key of a request if the options give none; `undefined` if it is not known. */
  clientKey(request: unknown, info: unknown): string | undefined;
}

/** The parts that the readers of a gate share. */
export interface ReaderContext {
  readonly source: LimitsSource;
  readonly unknownAddress: UnknownAddress;
  readonly missingKey: MissingKey;
  /** The plan without limiters, and the function that finds the plan with one more. */
  readonly empty: LimitPlan;
  readonly next: NextPlan;
  /** Receives the error of an unknown address in shadow mode, and that of an unknown plan. */
  notice(error: unknown, request: unknown): void;
}

/** Reads what a request takes from one limit. */
export interface LimitCallReader {
  /** The limiter, unless it is chosen for each request. */
  readonly fixed: AnyLimiter | undefined;
  /**
   * Adds the call on this limit to the calls before it, or returns those unchanged if the limit
   * does not apply to the request.
   */
  read(
    request: unknown,
    info: unknown,
    shadowed: boolean,
    before: LimitCall | undefined,
  ): MaybePromise<LimitCall | undefined>;
}

/** Makes the reader of one limit. */
export function limitCallReader(
  limit: GivenLimit,
  { source, unknownAddress, missingKey, empty, next, notice }: ReaderContext,
): LimitCallReader {
  const { cost = 1 } = limit;
  const limiter = limiterOf(limit);
  const isChosen = typeof limiter === "function";
  const chooser = limit.policy === undefined ? "limiter" : "policy";
  const keyOf = limit.key ?? source.clientKey;
  const faultOf: KeyCheck = keyCheck(
    limit.key === undefined ? undefined : missingKey ?? "refuse",
    unknownAddress,
    source,
    notice,
  );
  const noticeFresh = isChosen && limit.policy === undefined ? freshLimiterNotice() : undefined;

  function choose(
    request: unknown,
    info: unknown,
    shadowed: boolean,
    before: LimitCall | undefined,
  ): MaybePromise<LimitCall | undefined> {
    const chosen = (limiter as Exclude<typeof limiter, AnyLimiter>)(request, info);
    return isPromise(chosen)
      ? answerInTime(chooser, chosen)
        .then((chosen) => readChosen(chosen, request, info, shadowed, before))
      : readChosen(chosen, request, info, shadowed, before);
  }

  function readChosen(
    chosen: AnyLimiter | "unlimited",
    request: unknown,
    info: unknown,
    shadowed: boolean,
    before: LimitCall | undefined,
  ): MaybePromise<LimitCall | undefined> {
    if (chosen === "unlimited") return before;
    if (typeof (chosen as AnyLimiter | undefined)?.consume === "function") {
      return readKey(chosen, request, info, shadowed, before);
    }
    const what = chooser === "policy" ? "an algorithm" : "a limiter";
    const error = typeError(
      "limit the rate",
      `${chooser} must return ${what} or "unlimited"`,
      chosen,
    );
    notice(error, request);
    if (!shadowed) throw error;
    return before;
  }

  function readKey(
    limiter: AnyLimiter,
    request: unknown,
    info: unknown,
    shadowed: boolean,
    before: LimitCall | undefined,
  ): MaybePromise<LimitCall | undefined> {
    const key = keyOf(request, info);
    return typeof key !== "string" && isPromise(key)
      ? answerInTime("key", key)
        .then((key) => readCost(limiter, key, request, info, shadowed, before))
      : readCost(limiter, key, request, info, shadowed, before);
  }

  function readCost(
    limiter: AnyLimiter,
    key: string | null | undefined,
    request: unknown,
    info: unknown,
    shadowed: boolean,
    before: LimitCall | undefined,
  ): MaybePromise<LimitCall | undefined> {
    const fault = faultOf(key, request, info, shadowed);
    if (fault === "admit") return before;
    if (fault !== undefined) {
      return refusedCall(request, info, shadowed, empty, limiter, fault);
    }
    noticeFresh?.(limiter, key!);
    const units = typeof cost === "number" ? cost : cost(request, info);
    return typeof units !== "number" && isPromise(units)
      ? answerInTime("cost", units)
        .then((units) => callOn(limiter, key!, units, request, info, shadowed, before))
      : callOn(limiter, key!, units, request, info, shadowed, before);
  }

  function callOn(
    limiter: AnyLimiter,
    key: string,
    units: number,
    request: unknown,
    info: unknown,
    shadowed: boolean,
    before: LimitCall | undefined,
  ): LimitCall {
    if (before !== undefined && hasCallOn(before, limiter, key)) {
      return withMore(before, limiter, key, units);
    }
    const plan = next(before === undefined ? empty : before.plan, limiter);
    return {
      request,
      info,
      shadowed,
      refusal: undefined,
      delays: plan.delays,
      plan,
      limiter,
      bound: plan.last!.takes,
      key,
      argument: units,
      before,
    };
  }

  return isChosen ? { fixed: undefined, read: choose } : {
    fixed: limiter,
    read: (request, info, shadowed, before) => readKey(limiter, request, info, shadowed, before),
  };
}

/** The limiter, or the function that chooses one for each request. */
function limiterOf(
  limit: GivenLimit,
): AnyLimiter | ((request: unknown, info: unknown) => MaybePromise<AnyLimiter | "unlimited">) {
  if (limit.policy !== undefined) return policyLimiter(limit);
  return limit.limit === undefined ? limit.limiter! : limiterByNumbers(limit);
}
