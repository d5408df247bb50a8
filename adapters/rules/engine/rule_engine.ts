/*
 * The decision engine: requests in, verdicts out.
 *
 * A call takes the configuration as it is when it comes and keeps to it to its end, so that a
 * reload is the change of one reference and no call sees half of one. On a store that answers at
 * once the verdict is there at once.
 */

import { checkInteger, checkNow, checkOptions, checkStore } from "../../../core/options/checks.ts";
import { type Period, readPeriod } from "../../../core/options/period.ts";
import type { ReserveOptions } from "../../../core/limiter/receipt_calls.ts";
import { storeNames } from "../../../core/limiter/store_names.ts";
import type { Clock } from "../../../core/clock.ts";
import { firstPrinted, guarded } from "../../../core/guarded.ts";
import { andThen, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import type { Rule, Verdict } from "../../../core/rules/rules.ts";
import type { Store } from "../../../core/store.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { warnOfProcesses } from "../../../stores/memory/warn_of_processes.ts";
import { type RuleSet, toRuleSet } from "../files/read_rules.ts";
import type { RuleFile } from "../files/rule_file.ts";

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
import type { RuleRequest } from "./rule_request.ts";
import { releaseRequest, renewRequest, settleRequest } from "./settle_request.ts";

/** The options of `ruleEngine`. */
export interface RuleEngineOptions {
  /** The rules, as a file would hold them; without them there are none until `replace`. */
  readonly rules?: RuleFile | readonly RuleFile[] | RuleSet | undefined;
  /** Where use is kept; default a memory store of its own. */
  readonly store?: Store | undefined;
  /** The beginning of all stored keys; default `"rules"`. */
  readonly prefix?: string | undefined;
  /** Where `now` comes from; without it the store's own time. */
  readonly clock?: Clock | undefined;
  /** Where the individual limits of keys come from. */
  readonly lookup?: KeyLookup | undefined;
  /** How they are remembered. */
  readonly lookupCache?: KeyLimitsOptions | undefined;
  /** Whether nothing is refused; what would have been stands in the decisions. Default no. */
  readonly shadow?: boolean | undefined;
  /** Receives the errors of lookups. */
  readonly onLookupError?: ((error: unknown, key: string) => void) | undefined;
  /** Receives every verdict that a caller is given, `peek` apart; for metrics. */
  readonly onVerdict?: ((verdict: Verdict, request: RuleRequest) => void) | undefined;
}

/** The methods of a rule engine. All of them answer at once where the store does. */
export interface RuleEngine {
  /** The configuration that holds now. */
  readonly rules: RuleSet;
  /** The store. */
  readonly store: Store;
  /** Decides, and takes. @throws {TypeError} If the request is malformed. */
  consume(request: RuleRequest): Verdict | Promise<Verdict>;
  /** The answer that `consume` would give; changes nothing. */
  peek(request: RuleRequest): Verdict | Promise<Verdict>;
  /** Gives the units of a request back, to every rule in force for it. */
  refund(request: RuleRequest): Verdict | Promise<Verdict>;
  /**
   * Holds the permits of a request, of its rules with `concurrency`, and consumes of its other limits:
   * all together, or nothing where it is refused. Nobody renews the permits but the caller.
   *
   * @param id A whole number from 1 to 2^53 - 1; one call with the same id twice holds once. Random
   * unless given.
   */
  hold(request: RuleRequest, id?: number): RuleHold | Promise<RuleHold>;
  /** Renews permits for another time to live; whether all are held. One that has expired never is. */
  renew(permit: RulePermit): boolean | Promise<boolean>;
  /**
   * Takes as `consume` does, and answers a receipt with which these units are settled later. It
   * holds the permits of the request, too. If the request is refused, nothing is taken, not even
   * where each rule is charged by itself.
   */
  reserve(
    request: RuleRequest,
    options?: ReserveOptions,
  ): RuleReservation | Promise<RuleReservation>;
  /**
   * Settles a receipt as if the request had cost `actual`, at most once, and releases its permits.
   * Descriptors that brought a cost of their own keep that.
   *
   * @param actual Units that were used; or a list of them, one for each descriptor, in which
   * `undefined` keeps the cost.
   * @throws {TypeError} If it is no receipt.
   * @throws {RangeError} If `actual` is no integer of at least 0.
   */
  settle(receipt: RuleReceipt, actual: ActualCost): RuleSettlement | Promise<RuleSettlement>;
  /** Releases permits, or gives back all units of a receipt. */
  release(held: RulePermit | RuleReceipt): RuleSettlement | Promise<RuleSettlement>;
  /** Forgets the counters of a request; answers how many. */
  reset(request: RuleRequest): number | Promise<number>;
  /**
   * Blocks the counters of a request for a time: those of limits that are `blockable`. The other limits
   * of its rules are left alone; answers how many were blocked.
   */
  block(request: RuleRequest, duration: Period): number | Promise<number>;
  /** Ends such blocks; answers how many counters it unblocked. */
  unblock(request: RuleRequest): number | Promise<number>;
  /** Puts another configuration in place, for all calls that come after. */
  replace(rules: RuleSet): void;
  /** Looks up the individual limits of keys anew. */
  forgetLookups(): void;
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
 * import { ruleEngine, type Verdict } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const engine = ruleEngine({
 *   rules: {
 *     domain: "shop",
 *     rules: [
 *       { key: "user", limits: [{ limit: 5, period: "1m" }] },
 *       { key: "address", limits: [{ algorithm: "slidingLog", limit: 1, period: "1m" }] },
 *     ],
 *   },
 * });
 * const request = {
 *   domain: "shop",
 *   descriptors: [{ entries: [["user", "42"]] }, { entries: [["address", "192.0.2.7"]] }],
 * } as const;
 *
 * // The memory store answers at once.
 * assert.equal((engine.consume(request) as Verdict).allowed, true);
 * const refused = engine.consume(request) as Verdict;
 * assert.deepEqual(refused.rules.map(({ allowed }) => allowed), [true, false]);
 * assert.equal(refused.rules[0]?.decision?.remaining, 4); // not charged
 * ```
 */
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
    now: clock === undefined ? () => undefined : () => checkNow(clock()),
  };
  const print = firstPrinted();
  const report = onVerdict && guarded(onVerdict, print);
  const decider: RuleDecider = {
    on,
    keys: lookup && keyLimitsCache(on, lookup, guarded(onLookupError, print), lookupCache),
    names: storeNames(store, prefix, on.now),
    shadow: options.shadow === true,
    bound: bindRules(on, toRuleSet(options.rules), undefined),
  };
  const shadow = shadowing();
  const shown = decider.shadow
    ? (verdict: MaybePromise<Verdict>) => andThen(verdict, shadow)
    : (verdict: MaybePromise<Verdict>) => verdict;

  /** An answer whose verdict is shown and reported. */
  function held<Answer extends RuleHold | RuleReservation | ConsumedRequest>(
    request: RuleRequest,
    answered: MaybePromise<Answer>,
  ): MaybePromise<Answer> {
    return andThen(answered, (answer) => {
      const verdict = decider.shadow ? shadow(answer.verdict) : answer.verdict;
      report?.(verdict, request);
      return { ...answer, verdict };
    });
  }

  const made: RuleEngine = {
    get rules(): RuleSet {
      return decider.bound.set;
    },
    store,
    consume(request) {
      const verdict = shown(decideRequest(decider, request, "consume"));
      if (report === undefined) return atOnceOrLater(verdict);
      return atOnceOrLater(andThen(verdict, (known) => {
        report(known, request);
        return known;
      }));
    },
    peek: (request) => atOnceOrLater(shown(decideRequest(decider, request, "peek"))),
    refund: (request) => atOnceOrLater(decideRequest(decider, request, "refund")),
    hold(request, id) {
      if (id !== undefined) checkInteger("hold", "id", id, 1);
      return atOnceOrLater(held(request, holdRequest(decider, request, id)));
    },
    renew: (permit) => atOnceOrLater(renewRequest(decider, permit)),
    reserve(request, { ttl } = {}) {
      const period = ttl === undefined ? 0 : readPeriod("reserve", "ttl", ttl);
      return atOnceOrLater(held(request, reserveRequest(decider, request, period)));
    },
    settle: (receipt, actual) => atOnceOrLater(settleRequest(decider, receipt, actual)),
    release: (held) => atOnceOrLater(releaseRequest(decider, held)),
    reset: (request) => atOnceOrLater(resetRequest(decider, request)),
    block: (request, duration) =>
      atOnceOrLater(
        blockRequest(decider, request, readPeriod("block a request", "duration", duration)),
      ),
    unblock: (request) => atOnceOrLater(blockRequest(decider, request, 0)),
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

const undoable = new WeakMap<RuleEngine, (request: RuleRequest) => MaybePromise<ConsumedRequest>>();

/** Consumes of an engine's counters what may be given back when the request has ended. */
export function consumeUndoable(
  engine: RuleEngine,
  request: RuleRequest,
): MaybePromise<ConsumedRequest> {
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

/** An answer, or a promise of the language's own kind, whatever kind the store's promises are of. */
function atOnceOrLater<Answer>(answer: MaybePromise<Answer>): Answer | Promise<Answer> {
  return isPromise(answer) ? Promise.resolve(answer) : answer;
}
