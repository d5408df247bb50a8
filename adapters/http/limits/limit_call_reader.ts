/*
 * Reads from a request what it takes from one limit: the limiter, the key and the cost.
 *
 * Each step calls a function of the options, which may return a promise. The steps run one after
 * another. If two ran at once and both failed, nobody would handle the second failure, and it would
 * end the process.
 */

import { isPromise } from "../../../core/maybe_promise.ts";
import { typeError } from "../../../core/options/checks.ts";
import type { RequestSource } from "../address/client_key.ts";
import { answerInTime } from "../gate/answer_in_time.ts";
import { freshLimiterNotice } from "./fresh_limiters.ts";
import { type KeyCheck, keyCheck, type MissingKey, type UnknownAddress } from "./key_faults.ts";
import { addCall, type LimitsAsked, type Plans } from "./limit_call.ts";
import { type AnyLimiter, type Awaitable, type GivenLimit, isLimiter } from "./limit_options.ts";
import { limiterByNumbers } from "./limiter_maker.ts";
import { policyLimiter } from "./policy_limiter.ts";

/** How a gate reads what limits need of a request. */
export interface LimitsSource extends Pick<RequestSource<unknown, unknown>, "signal"> {
  /** The key of a request if the options give none; `undefined` if it is not known. */
  clientKey(request: unknown, info: unknown): string | undefined;
}

/** The parts that the readers of a gate share. */
export interface ReaderContext extends Plans {
  readonly source: LimitsSource;
  readonly unknownAddress: UnknownAddress;
  readonly missingKey: MissingKey;
  /** Whether requests may get their units back. */
  readonly refunds: boolean;
  /** Receives the error of an unknown address in shadow mode, and that of an unknown plan. */
  notice(error: unknown, request: unknown): void;
}

/** Reads what a request takes from one limit. */
export interface LimitCallReader {
  /** The limiter, unless it is chosen for each request. */
  readonly fixed: AnyLimiter | undefined;
  /**
   * Adds the call on this limit to a request, or its refusal, or nothing if the limit does not apply to
   * the request. A promise if a function of the options returns one.
   */
  read(asked: LimitsAsked): void | Promise<void>;
}

/** Makes the reader of one limit. */
export function limitCallReader(
  limit: GivenLimit,
  context: ReaderContext,
): LimitCallReader {
  const { source, unknownAddress, missingKey, notice, refunds } = context;
  const { cost = 1 } = limit;
  const limiter = limiterOf(limit, refunds);
  const chooser = limit.policy === undefined ? "limiter" : "policy";
  const keyOf = limit.key ?? source.clientKey;
  const faultOf: KeyCheck = keyCheck(
    limit.key === undefined ? undefined : missingKey ?? "refuse",
    unknownAddress,
    source,
    notice,
  );
  const noticeFresh = typeof limiter === "function" && limit.policy === undefined
    ? freshLimiterNotice()
    : undefined;

  function readChosen(asked: LimitsAsked, chosen: AnyLimiter | "unlimited"): void | Promise<void> {
    if (chosen === "unlimited") return;
    if (isLimiter(chosen)) return readKey(asked, chosen);
    const what = chooser === "policy" ? "an algorithm" : "a limiter(...)";
    const rule = `${chooser} must return ${what} or "unlimited"`;
    const error = typeError("limit the rate", rule, chosen);
    notice(error, asked.request);
    if (!asked.shadowed) throw error;
  }

  function readKey(asked: LimitsAsked, limiter: AnyLimiter): void | Promise<void> {
    const key = keyOf(asked.request, asked.info);
    return typeof key === "string"
      ? readCost(asked, limiter, key)
      : readKeyLater(asked, limiter, key);
  }

  // Closures are made in functions of their own, because a function that makes one pays for it even where
  // it does not come to that.
  function readKeyLater(
    asked: LimitsAsked,
    limiter: AnyLimiter,
    key: ReturnType<typeof keyOf>,
  ): void | Promise<void> {
    return within("key", key, (key) => readCost(asked, limiter, key));
  }

  function addLater(
    asked: LimitsAsked,
    limiter: AnyLimiter,
    key: string,
    units: Awaitable<number>,
  ): void | Promise<void> {
    return within("cost", units, (units) => addCall(asked, context, limiter, key, units));
  }

  function readCost(
    asked: LimitsAsked,
    limiter: AnyLimiter,
    key: string | null | undefined,
  ): void | Promise<void> {
    const { request, info, shadowed } = asked;
    const fault = faultOf(key, request, info, shadowed);
    if (fault === "admit") return;
    if (fault !== undefined) return void (asked.refusal = fault);
    noticeFresh?.(limiter, key!);
    const units = typeof cost === "number" ? cost : cost(request, info);
    return typeof units === "number"
      ? addCall(asked, context, limiter, key!, units)
      : addLater(asked, limiter, key!, units);
  }

  return typeof limiter === "function"
    ? {
      fixed: undefined,
      read: (asked) =>
        within(
          chooser,
          limiter(asked.request, asked.info),
          (chosen) => readChosen(asked, chosen),
        ),
    }
    : { fixed: limiter, read: (asked) => readKey(asked, limiter) };
}

/** Continues with the answer of a function of the options, at once or within a time. */
function within<Value>(
  option: string,
  answer: Awaitable<Value>,
  next: (value: Value) => void | Promise<void>,
): void | Promise<void> {
  return isPromise(answer) ? answerInTime(option, answer).then(next) : next(answer);
}

/** The limiter, or the function that chooses one for each request. */
function limiterOf(
  limit: GivenLimit,
  refunds: boolean,
): AnyLimiter | ((request: unknown, info: unknown) => Awaitable<AnyLimiter | "unlimited">) {
  if (limit.policy !== undefined) return policyLimiter({ ...limit, refunds });
  return limit.limit === undefined ? limit.limiter! : limiterByNumbers({ ...limit, refunds });
}
