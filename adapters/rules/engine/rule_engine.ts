/*
 * The decision engine: requests in, verdicts out.
 *
 * A call uses the configuration that is current at its start until its end. So a reload is the
 * change of one reference, and no call sees half a reload. On a store that answers at once, the
 * engine answers at once.
 */

import { checkInteger, checkOptions, checkStore } from "../../../core/options/checks.ts";
import { type Period, readPeriod } from "../../../core/options/period.ts";
import { readClock } from "../../../core/read_clock.ts";
import type { Clock } from "../../../core/clock.ts";
import { failingOn, failOn } from "../../../core/limiter/fail_on.ts";
import { firstPrinted, guarded } from "../../../core/guarded.ts";
import { andThen } from "../../../core/maybe_promise.ts";
import type { Rule, Verdict } from "../../../core/rules/rules.ts";
import type { Answered, Store, StoreMode, SyncStore } from "../../../core/store.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { warnOfProcesses } from "../../../stores/memory/warn_of_processes.ts";
import { type RuleSet, toRuleSet } from "../files/read_rules.ts";
import type { RuleFile } from "../files/rule_file.ts";

import type { VerdictAnswer } from "./ask_rules.ts";
import type { RuleStore } from "./bound_limits.ts";
import { bindRules } from "./bound_rules.ts";
import { blockRequest, decideRequest, resetRequest, type RuleDecider } from "./decide_request.ts";
import { keyLimitsCache, type KeyLimitsOptions, type KeyLookup } from "./key_limits.ts";
import {
  type ConsumedRequest,
  consumeOrUndo,
  holdRequest,
  reserveRequest,
} from "./hold_request.ts";
import type {
  ActualCost,
  RuleHold,
  RulePermit,
  RuleReceipt,
  RuleReservation,
  RuleSettlement,
} from "./rule_receipt.ts";
import { givenAs, type RuleRequest } from "./rule_request.ts";
import { releaseRequest, renewRequest, settleRequest } from "./settle_request.ts";

/** The options of `ruleEngine`. */
export interface RuleEngineOptions {
  /** The rules, in the form of a rule file; without them there are no rules until `replace`. */
  readonly rules?: RuleFile | readonly RuleFile[] | RuleSet | undefined;
  /** Where use is kept; default a memory store of its own. */
  readonly store?: Store | undefined;
  /** The beginning of all stored keys; default `"rules"`. */
  readonly prefix?: string | undefined;
  /** The source of `now`; default is the store's own time. */
  readonly clock?: Clock | undefined;
  /** The source of individual limits of keys. */
  readonly lookup?: KeyLookup | undefined;
  /** How the individual limits are remembered. */
  readonly lookupCache?: KeyLimitsOptions | undefined;
  /** Whether nothing is refused; the decisions still show refusals. Default no. */
  readonly shadow?: boolean | undefined;
  /** Receives the errors of lookups. */
  readonly onLookupError?: ((error: unknown, key: string) => void) | undefined;
  /** Receives every verdict that a caller receives, except from `peek` and `refund`; for metrics. */
  readonly onVerdict?: ((verdict: Verdict, request: RuleRequest) => void) | undefined;
}

/**
 * The methods of a rule engine. A malformed request, permit or receipt is a `TypeError` or `RangeError`
 * by the name `MalformedRequestError`: its caller's fault, whatever the store does.
 *
 * @typeParam Mode Whether `consume`, `peek` and `refund` answer at once. The others answer by promises.
 */
export interface RuleEngine<Mode extends StoreMode = StoreMode> {
  /** The configuration that holds now. */
  readonly rules: RuleSet;
  /** The store. */
  readonly store: Store;
  /** Decides, and takes. */
  consume(request: RuleRequest): Answered<Mode, Verdict>;
  /** The answer that `consume` would give; changes nothing. */
  peek(request: RuleRequest): Answered<Mode, Verdict>;
  /** Gives the units of a request back, to every rule in force for it. */
  refund(request: RuleRequest): Answered<Mode, Verdict>;
  /**
   * Holds the permits of a request under its rules with `concurrency`, and consumes units of its
   * other limits: all together, or nothing if it is refused. The caller must renew the permits.
   *
   * @param id A whole number from 1 to 2^53 - 1; repeating a call with the same id holds the
   * permits once. Random unless given.
   */
  hold(request: RuleRequest, id?: number): Promise<RuleHold>;
  /**
   * Renews permits for another time to live; answers whether all are held. An expired permit is
   * never renewed.
   */
  renew(permit: RulePermit): Promise<boolean>;
  /**
   * Takes as `consume` does, and returns a receipt with which these units are settled later. It
   * also holds the permits of the request. If the request is refused, nothing is taken, not even
   * where each rule is charged by itself.
   *
   * @throws {TypeError} By the name `MalformedRequestError`: if a limit of its rules is not
   * `reservable: true`.
   */
  reserve(request: RuleRequest): Promise<RuleReservation>;
  /**
   * Settles a receipt as if the request had cost `actual`, at most once, and releases its permits.
   * Descriptors with a cost of their own keep that cost.
   *
   * @param actual Units that were used, or a list with one number for each descriptor; `undefined`
   * in the list keeps that descriptor's cost.
   */
  settle(receipt: RuleReceipt, actual: ActualCost): Promise<RuleSettlement>;
  /** Releases permits, or gives back all units of a receipt. */
  release(held: RulePermit | RuleReceipt): Promise<RuleSettlement>;
  /** Forgets the counters of a request; answers how many. */
  reset(request: RuleRequest): Promise<number>;
  /**
   * Blocks the counters of a request for a time, in limits that are `blockable`. Other limits of
   * its rules are left alone. Answers how many counters were blocked.
   */
  block(request: RuleRequest, duration: Period): Promise<number>;
  /** Ends the blocks of a request's counters; answers how many counters it unblocked. */
  unblock(request: RuleRequest): Promise<number>;
  /** Replaces the configuration for all later calls. */
  replace(rules: RuleSet): void;
  /** Looks up the individual limits of keys anew. */
  forgetLookups(): void;
}

/** The options of an engine that answers at once: nothing is looked up, and the store answers at once. */
export interface SyncRuleEngineOptions extends RuleEngineOptions {
  /** Where use is kept; default a memory store of its own. */
  readonly store?: SyncStore | undefined;
  /** Limits of keys are not looked up. */
  readonly lookup?: undefined;
}

/**
 * Makes a rule engine.
 *
 * A decision takes as long as finding the rules of its descriptors, and one call of the store.
 *
 * @param options The rules and the store, as above.
 * @throws {TypeError} If the rules are malformed; the message names every fault.
 * @throws {RangeError} If the store cannot hold the states of a limit.
 *
 * @example A user and an address, charged together
 * ```ts
 * import { ruleEngine } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const engine = ruleEngine({
 *   rules: {
 *     domain: "shop",
 *     rules: [
 *       { key: "user", limits: [{ limit: 5, period: "1m", burst: 5 }] },
 *       { key: "address", limits: [{ algorithm: "slidingLog", limit: 1, period: "1m" }] },
 *     ],
 *   },
 * });
 * const request = {
 *   domain: "shop",
 *   descriptors: [{ entries: [["user", "42"]] }, { entries: [["address", "192.0.2.7"]] }],
 * } as const;
 *
 * assert.equal(engine.consume(request).allowed, true);
 * const refused = engine.consume(request);
 * assert.deepEqual(refused.rules.map(({ allowed }) => allowed), [true, false]);
 * assert.equal(refused.rules[0]?.decision?.remaining, 4); // not charged
 * ```
 */
export function ruleEngine(options?: SyncRuleEngineOptions): RuleEngine<"sync">;
/** The same on a store of either kind, or with limits that are looked up. */
export function ruleEngine(options: RuleEngineOptions): RuleEngine;
export function ruleEngine(options: RuleEngineOptions = {}): RuleEngine {
  checkOptions<RuleEngineOptions>("create ruleEngine", options, {
    rules: true,
    store: true,
    prefix: true,
    clock: true,
    lookup: true,
    lookupCache: true,
    onLookupError: true,
    onVerdict: true,
    shadow: true,
  });
  const { store = memoryStore(), prefix = "rules", clock, lookup, lookupCache } = options;
  const { onVerdict, onLookupError = () => {} } = options;
  checkStore("create ruleEngine", "store", store);
  warnOfProcesses(store);
  const on: RuleStore = {
    store,
    prefix,
    instant: clock ?? Date.now,
    now: clock === undefined ? () => undefined : () => readClock(clock),
  };
  const print = firstPrinted();
  const report = onVerdict && guarded(onVerdict, print);
  const decider: RuleDecider = {
    on,
    keys: lookup && keyLimitsCache(on, lookup, guarded(onLookupError, print), lookupCache),
    shadow: options.shadow === true,
    bound: bindRules(on, toRuleSet(options.rules), undefined),
  };
  const shown = decider.shadow ? shadowing() : (verdict: Verdict) => verdict;

  /** The verdict that the caller receives, which is reported. */
  function reported(verdict: VerdictAnswer, request: RuleRequest): VerdictAnswer {
    return andThen(verdict, (known) => {
      const received = shown(known);
      report?.(received, request);
      return received;
    });
  }

  /** An answer whose verdict is shown and reported. */
  async function held<Answer extends RuleHold | RuleReservation | ConsumedRequest>(
    request: RuleRequest,
    answered: Promise<Answer>,
  ): Promise<Answer> {
    const answer = await answered;
    return { ...answer, verdict: await reported(answer.verdict, request) };
  }

  const made: RuleEngine = {
    get rules(): RuleSet {
      return decider.bound.set;
    },
    store,
    consume(request) {
      try {
        const verdict = decideRequest(decider, request, "consume");
        const isShown = report === undefined && !decider.shadow;
        return atOnceOrLater(isShown ? verdict : reported(verdict, request));
      } catch (error) {
        return failOn(store, error);
      }
    },
    ...failingOn(store, {
      peek: (request: RuleRequest) =>
        atOnceOrLater(andThen(decideRequest(decider, request, "peek"), shown)),
      refund: (request: RuleRequest) => atOnceOrLater(decideRequest(decider, request, "refund")),
    }),
    async hold(request, id) {
      if (id !== undefined) givenAs(checkInteger, "hold", "id", id, 1);
      return await held(request, holdRequest(decider, request, id));
    },
    renew: (permit) => renewRequest(decider, permit),
    reserve: (request) => held(request, reserveRequest(decider, request)),
    settle: async (receipt, actual) => await settleRequest(decider, receipt, actual),
    release: async (held) => await releaseRequest(decider, held),
    reset: (request) => resetRequest(decider, request),
    async block(request, duration) {
      const milliseconds = givenAs(readPeriod, "block a request", "duration", duration);
      return await blockRequest(decider, request, milliseconds);
    },
    unblock: (request) => blockRequest(decider, request, 0),
    replace(rules): void {
      decider.bound = bindRules(on, rules, decider.bound);
    },
    forgetLookups(): void {
      decider.keys?.refresh();
    },
  };
  undoable.set(made, (request) => held(request, consumeOrUndo(decider, request)));
  return made;
}

const undoable = new WeakMap<RuleEngine, (request: RuleRequest) => Promise<ConsumedRequest>>();

/**
 * Consumes units of an engine's counters in a way that lets them be given back when the request has
 * ended.
 */
export function consumeUndoable(
  engine: RuleEngine,
  request: RuleRequest,
): Promise<ConsumedRequest> {
  return undoable.get(engine)!(request);
}

/** Makes the function that turns a verdict into one whose rules are all in shadow mode. */
function shadowing(): (verdict: Verdict) => Verdict {
  const shadows = new WeakMap<Rule, Rule>();
  const shadowOf = (rule: Rule): Rule => {
    const known = shadows.get(rule) ?? { ...rule, shadow: true };
    shadows.set(rule, known);
    return known;
  };
  return ({ rules }) => ({
    allowed: true,
    decision: undefined,
    rules: rules.map((each) => ({ ...each, allowed: true, rule: shadowOf(each.rule) })),
  });
}

/** A verdict, or a native promise of it, whatever kind of promise the store returns. */
function atOnceOrLater(verdict: VerdictAnswer): Verdict | Promise<Verdict> {
  // A verdict has no `then`, and looking for one costs more.
  return (verdict as Verdict).rules === undefined
    ? Promise.resolve(verdict as PromiseLike<Verdict>)
    : verdict as Verdict;
}
