/*
 * Reads from a request what it takes from one limit: the limiter, the key and the cost.
 *
 * Each step calls a function of the options, which may return a promise. The steps run one after
 * another. If two ran at once and both failed, nobody would handle the second failure, and it would
 * end the process.
 */

import { internalsOf, type LimiterInternals } from "../../../core/limiter/limiter_internals.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { typeError } from "../../../core/options/checks.ts";
import { consume } from "../../../core/verbs/consume.ts";
import type { RequestSource } from "../address/client_key.ts";
import { answerInTime } from "../gate/answer_in_time.ts";
import { freshLimiterNotice } from "./fresh_limiters.ts";
import { type KeyCheck, keyCheck, type MissingKey, type UnknownAddress } from "./key_faults.ts";
import { limiterByNumbers, limiterByPolicy } from "./limiter_maker.ts";
import type { AnyLimiter, Awaitable, GivenLimit } from "./limit_options.ts";
import { type LimitCall, type LimitsAsked, NO_CALLS } from "./limits_asked.ts";

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
  /** Whether requests may get their units back. */
  readonly refunds: boolean;
  /** Receives the error of an unknown address in shadow mode, and that of an unknown plan. */
  notice(error: unknown, request: unknown): void;
}

/** Reads what a request takes from one limit. */
export interface LimitCallReader {
  /** The limiter, unless it is chosen for each request. */
  readonly fixed: LimiterInternals | undefined;
  /**
   * Adds the call on this limit to a request, or its refusal, or nothing if the limit does not apply to
   * the request. A promise if a function of the options returns one.
   */
  read(asked: LimitsAsked): void | Promise<void>;
}

/** A limiter, and the verb that consumes its units, or holds a permit. */
type Taking = Pick<LimitCall, "counter" | "bound">;

type Key = string | null | undefined;

/** Makes the reader of one limit. */
export function limitCallReader(limit: GivenLimit, context: ReaderContext): LimitCallReader {
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
    const counter = typeof chosen === "object" && chosen !== null ? internalsOf(chosen) : undefined;
    if (counter !== undefined) return readKey(asked, takingFrom(counter));
    const what = chooser === "policy" ? "an algorithm" : "a limiter(...)";
    const rule = `${chooser} must return ${what} or "unlimited"`;
    const error = typeError("limit the rate", rule, chosen);
    notice(error, asked.request);
    if (!asked.shadowed) throw error;
  }

  function readKey(asked: LimitsAsked, taking: Taking): void | Promise<void> {
    const key = keyOf(asked.request, asked.info);
    return typeof key !== "string" && isPromise(key)
      ? readKeyLater(asked, taking, key)
      : readCost(asked, taking, key);
  }

  function readCost(asked: LimitsAsked, taking: Taking, key: Key): void | Promise<void> {
    const { request, info, shadowed } = asked;
    const fault = faultOf(key, request, info, shadowed);
    if (fault === "admit") return;
    if (fault !== undefined) return void (asked.refusal = fault);
    noticeFresh?.(taking.counter, key!);
    const units = typeof cost === "number" ? cost : cost(request, info);
    return typeof units !== "number" && isPromise(units)
      ? addLater(asked, taking, key!, units)
      : addCall(asked, taking, key!, units);
  }

  // Functions of their own, because a function that makes a closure pays for it at every call.

  async function chooseLater(asked: LimitsAsked, chosen: Promise<AnyLimiter | "unlimited">) {
    await readChosen(asked, await answerInTime(chooser, chosen));
  }

  async function readKeyLater(asked: LimitsAsked, taking: Taking, key: Promise<Key>) {
    await readCost(asked, taking, await answerInTime("key", key));
  }

  if (typeof limiter !== "function") {
    const taking = takingFrom(internalsOf(limiter)!);
    return { fixed: taking.counter, read: (asked) => readKey(asked, taking) };
  }
  return {
    fixed: undefined,
    read(asked) {
      const chosen = limiter(asked.request, asked.info);
      return isPromise(chosen) ? chooseLater(asked, chosen) : readChosen(asked, chosen);
    },
  };
}

/** The call on a limiter that consumes units, or holds a permit. */
export function limitCall(counter: LimiterInternals, key: string, units: number): LimitCall {
  return { ...takingFrom(counter), key, argument: units };
}

function addCall(asked: LimitsAsked, taking: Taking, key: string, units: number): void {
  const call: LimitCall = { counter: taking.counter, bound: taking.bound, key, argument: units };
  asked.calls = asked.calls === NO_CALLS ? [call] : [...asked.calls, call];
}

async function addLater(asked: LimitsAsked, taking: Taking, key: string, units: Promise<number>) {
  addCall(asked, taking, key, await answerInTime("cost", units));
}

function takingFrom(counter: LimiterInternals): Taking {
  const { family, permits } = counter;
  return {
    counter,
    bound: permits === undefined ? family.bind(consume) : family.bind(permits.verb),
  };
}

/** The limiter, or the function that chooses one for each request. */
function limiterOf(
  limit: GivenLimit,
  refunds: boolean,
): AnyLimiter | ((request: unknown, info: unknown) => Awaitable<AnyLimiter | "unlimited">) {
  if (limit.policy !== undefined) return limiterByPolicy({ ...limit, refunds });
  return limit.limit === undefined ? limit.limiter! : limiterByNumbers({ ...limit, refunds });
}
