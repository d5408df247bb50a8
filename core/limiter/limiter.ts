/*
 * The limiter that callers hold: it checks arguments, reads the clock, runs the store and reports
 * the verdict. It is written once for stores that answer at once and for those that answer by promises.
 *
 * A limiter is data: an algorithm, a store and a prefix, and the calls that everybody needs. All else is
 * a function that takes the limiter, and finds in `internals` what it needs.
 */

import type { Algorithm } from "../algorithm.ts";
import type { Abilities } from "../algorithms/can.ts";
import { takingOverOnce } from "../carry_over.ts";
import type { Decision } from "../decision.ts";
import { failureReport, guarded } from "../guarded.ts";
import { andFinally, andThen, isPromise, type MaybePromise } from "../maybe_promise.ts";
import { checkCost, checkText, typeError } from "../options/checks.ts";
import { readClock } from "../read_clock.ts";
import type { BoundVerb, OlderOptions, Store, StoreBase, Verb } from "../store.ts";
import { charge } from "../verbs/charge.ts";
import { consume } from "../verbs/consume.ts";
import { peek } from "../verbs/peek.ts";
import { refund } from "../verbs/refund.ts";
import { failOn } from "./fail_on.ts";
import { type LimiterInternals, withInternals } from "./limiter_internals.ts";
import type { AsyncLimiter, Limiter, LimiterOptions } from "./limiter_types.ts";
import type { OpenPermits } from "./permit_desk.ts";
import { listenersOf } from "./listeners.ts";

/**
 * Makes a limiter of an algorithm and a store; `mod.ts` adds the default store.
 *
 * @throws {RangeError} If the store cannot hold the algorithm's states.
 */
export function limiterOn(
  algorithm: Algorithm,
  store: Store,
  prefix: string,
  options: LimiterOptions,
): Limiter | AsyncLimiter {
  const { clock, replaces, maxWaiting = 10_000, onDecision, onBlock } = options;
  const older = olderOptions(replaces).filter((it) => it.algorithm.id !== algorithm.id);
  const family = (store as StoreBase).open(takingOverOnce({ prefix, algorithm, older }));
  const listeners = listenersOf(store);
  const openPermits = (algorithm.internals?.abilities as Abilities | undefined)?.permits as
    | OpenPermits
    | undefined;
  const consuming = taking(consume);
  const charging = taking(charge);
  const looking = family.bind(peek);
  const failed = failureReport(options.onFailure);
  const decided = onDecision && guarded(onDecision, (error, _decision, key) => failed(error, key));

  /** A verb that takes units. If the algorithm has permits, binding throws, but not before the call. */
  function taking(verb: typeof consume): Pick<BoundVerb<number, Decision>, "call"> {
    return openPermits === undefined
      ? family.bind(verb)
      : { call: () => family.bind(verb) as never };
  }

  /** The instant to decide at; `undefined` for the store's own time. */
  function instant(): number | undefined {
    return clock === undefined ? undefined : readClock(clock);
  }

  /** The answer, reported to `onDecision` as soon as it is known. */
  function reported(
    answer: MaybePromise<Decision>,
    key: string,
    cost: number,
  ): MaybePromise<Decision> {
    if (decided === undefined) return answer;
    return andThen(answer, (decision) => {
      decided(decision, key, cost);
      return decision;
    });
  }

  /** Runs a verb. If it gives units back, whoever waits for them hears of it when it has ended. */
  function call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer> {
    const bound = family.bind(verb);
    const now = instant();
    if (verb.kind !== "free") return bound.call(key, argument, now);
    if (listeners.size > 0) return thenTell(() => bound.call(key, argument, now), key);
    // Nobody waits, which is the usual case.
    const answer: MaybePromise<Answer> = bound.call(key, argument, now);
    return isPromise(answer) ? thenTell(() => answer, key) : answer;
  }

  function thenTell<Value>(free: () => MaybePromise<Value>, key: string): MaybePromise<Value> {
    return andFinally(free, () => listeners.size > 0 && listeners.get(family.nameOf(key))?.());
  }

  const made = {
    algorithm,
    store,
    prefix,
    consume(key: string, cost = 1): MaybePromise<Decision> {
      // This is the hot path, so the common outcomes of the checks are here, the rest in separate
      // functions.
      const isUsual = typeof key === "string" && key !== "" && typeof cost === "number";
      try {
        if (!isUsual || cost >>> 0 !== cost) {
          checkCall("consume", key, cost);
        }
        const answer = consuming.call(key, cost, clock === undefined ? undefined : instant());
        return decided === undefined ? answer : reported(answer, key, cost);
      } catch (error) {
        return failOn(store, error);
      }
    },
    peek(key: string, cost = 1): MaybePromise<Decision> {
      try {
        checkCall("peek", key, cost);
        return looking.call(key, cost, instant());
      } catch (error) {
        return failOn(store, error);
      }
    },
    refund(key: string, cost = 1): MaybePromise<Decision> {
      try {
        checkCall("refund", key, cost, 1);
        return reported(call(refund, key, cost), key, -cost);
      } catch (error) {
        return failOn(store, error);
      }
    },
    charge(key: string, cost = 1): MaybePromise<Decision> {
      try {
        checkCall("charge", key, cost);
        return reported(charging.call(key, cost, instant()), key, cost);
      } catch (error) {
        return failOn(store, error);
      }
    },
    reset(key: string): MaybePromise<void> {
      try {
        checkText("reset", "key", key);
        return thenTell(() => family.delete(key), key);
      } catch (error) {
        return failOn(store, error);
      }
    },
    resetPrefix(): MaybePromise<void> {
      try {
        if (store.deleteAll === undefined) {
          throw typeError("reset all keys", "its store must have deleteAll", store.deleteAll);
        }
        const tellAll = () => [...listeners.values()].forEach((wake) => wake());
        return andFinally<void>(() => store.deleteAll!(prefix), tellAll);
      } catch (error) {
        return failOn(store, error);
      }
    },
  };
  const own: LimiterInternals = {
    algorithm,
    store,
    clock,
    family,
    families: undefined,
    maxWaiting,
    listeners,
    permits: openPermits?.({ algorithm, clock, call, renewalLag: family.renewalLag ?? 0 }),
    onBlock,
    failed,
    call,
    now: instant,
    report: (decision, key, cost) => void decided?.(decision, key, cost),
  };
  // If the store answers at once, the answers are values; otherwise they are promises.
  return withInternals(made, own) as unknown as Limiter | AsyncLimiter;
}

/** The older options that `replaces` names, as a list. */
export function olderOptions(replaces: LimiterOptions["replaces"]): readonly OlderOptions[] {
  if (replaces === undefined) return [];
  return Array.isArray(replaces) ? replaces : [replaces as OlderOptions];
}

function checkCall(action: string, key: string, cost: number, least: number = 0): void {
  checkText(action, "key", key);
  checkCost(action, cost, least);
}
