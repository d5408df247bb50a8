/*
 * The decision engine: requests in, verdicts out.
 *
 * A call takes the configuration as it is when it comes and keeps to it to its end, so that a
 * reload is the change of one reference and no call sees half of one. On a store that answers at
 * once the verdict is there at once. Most requests meet one rule with one limit: that way is the
 * store's lane, without a list of operations.
 */

import { checkNow, checkOptions, checkStore } from "../../../core/options/checks.ts";
import type { Clock } from "../../../core/clock.ts";
import {
  type AppliedRule,
  type Descriptor,
  type Domain,
  matchDescriptor,
  matchRules,
  NO_RULE_VERDICT,
  type Verdict,
} from "../../../core/rules/rules.ts";
import { firstPrinted, guarded } from "../../../core/guarded.ts";
import type { Store } from "../../../core/store.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { allOf, andThen, type MaybePromise } from "../maybe_promise.ts";
import { binder, type BoundRules } from "./bound_rules.ts";
import { type Charge, type ChargeAction, overriding, ruleCharger } from "./charge_rules.ts";
import { keyLimitsCache, type KeyLimitsOptions, type KeyLookup } from "./key_limits.ts";
import { checkRuleRequest } from "./check_rule_request.ts";
import type { RuleFile, RuleSet } from "../files/read_rules.ts";
import { toRuleSet } from "../files/to_rule_set.ts";

/** What is asked. */
export interface RuleRequest {
  /** The domain whose rules hold. */
  readonly domain: string;
  /** What the request is about; at least one. */
  readonly descriptors: readonly Descriptor[];
  /** Units of a descriptor that brings none of its own, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
}

/** The options of `ruleEngine`. */
export interface RuleEngineOptions {
  /** The rules, as a file would hold them; without them there are none until `replace`. */
  readonly rules?: RuleFile | readonly RuleFile[] | RuleSet | undefined;
  /** Where use is kept; default a memory store of its own. */
  readonly store?: Store | undefined;
  /** What all stored keys begin with; default `"rules"`. */
  readonly prefix?: string | undefined;
  /** Where `now` comes from; without it the store's own time. */
  readonly clock?: Clock | undefined;
  /** Where the limits of keys of their own come from. */
  readonly lookup?: KeyLookup | undefined;
  /** How they are remembered. */
  readonly lookupCache?: KeyLimitsOptions | undefined;
  /** Told of lookups that failed. */
  readonly onLookupError?: ((error: unknown, key: string) => void) | undefined;
  /** Told of every verdict that a caller is given, `peek` apart; for metrics. */
  readonly onVerdict?: ((verdict: Verdict, request: RuleRequest) => void) | undefined;
}

/** What a rule engine does. All of it answers at once where the store does. */
export interface RuleEngine {
  /** The configuration that holds now. */
  readonly rules: RuleSet;
  /** The store. */
  readonly store: Store;
  /** Decides, and takes. @throws {TypeError} If the request is malformed. */
  consume(request: RuleRequest): Verdict | Promise<Verdict>;
  /** What `consume` would answer; changes nothing. */
  peek(request: RuleRequest): Verdict | Promise<Verdict>;
  /** Gives the units of a request back, to every rule that holds for it. */
  refund(request: RuleRequest): Verdict | Promise<Verdict>;
  /** Forgets the counters of a request; answers how many. */
  reset(request: RuleRequest): number | Promise<number>;
  /** Puts another configuration in place, for all calls that come after. */
  replace(rules: RuleSet): void;
  /** Asks for the limits of keys of their own anew. */
  forgetLookups(): void;
}

/** The places of the descriptors of a request that has one. */
const FIRST: readonly number[] = Object.freeze([0]);

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
  checkOptions("create ruleEngine", options);
  const { store = memoryStore(), prefix = "rules", clock, lookup } = options;
  checkStore("create ruleEngine", "store", store);
  const print = firstPrinted();
  const onVerdict = options.onVerdict && guarded(options.onVerdict, print);
  const now = clock === undefined ? () => undefined : () => checkNow(clock());
  const instant = clock ?? Date.now;
  const bound = binder(store, prefix, instant, now);
  const { charge, chargePrepared } = ruleCharger(store, bound, instant, now);
  const keys = lookup && keyLimitsCache(
    lookup,
    bound.bind,
    instant,
    guarded(options.onLookupError ?? (() => {}), print),
    options.lookupCache,
  );
  let current: BoundRules = bound.bindAll(toRuleSet(options.rules), undefined);

  function decide(request: RuleRequest, way: ChargeAction): MaybePromise<Verdict> {
    checkRuleRequest(request);
    const rules = current;
    const domain = rules.set.domains.get(request.domain);
    if (domain === undefined) return NO_RULE_VERDICT;
    if (request.descriptors.length === 1) {
      const verdict = decideOne(rules, domain, request.descriptors[0]!, request.cost ?? 1, way);
      if (verdict !== undefined) return verdict;
    }
    const applied = matchRules(domain, request.descriptors, request.cost ?? 1);
    if (applied.length === 0) return NO_RULE_VERDICT;
    const charges = chargesOf(rules, domain, applied);
    return charges instanceof Promise
      ? charges.then((known) => charge(domain, known, way))
      : charge(domain, charges, way);
  }

  /**
   * The common request: one descriptor, one rule, one limit, by the store's short way; `undefined`
   * if the request is another.
   */
  function decideOne(
    rules: BoundRules,
    domain: Domain,
    { entries, cost: own, limit: override }: Descriptor,
    cost: number,
    way: ChargeAction,
  ): MaybePromise<Verdict> | undefined {
    if (override !== undefined) return undefined;
    const match = matchDescriptor(domain, entries);
    if (match === undefined) return NO_RULE_VERDICT;
    const { rule, key } = match;
    if (rule.lookup !== undefined && keys !== undefined) return undefined;
    const verdict = rules.rules[rule.index]!;
    const applied: AppliedRule = {
      rule,
      key,
      cost: own ?? cost,
      descriptors: FIRST,
      limit: undefined,
    };
    return chargePrepared({ applied, verdict }, way);
  }

  /** What decides for each rule: its limits, those of its key, or those of the descriptor. */
  function chargesOf(
    rules: BoundRules,
    domain: Domain,
    all: readonly AppliedRule[],
  ): MaybePromise<readonly Charge[]> {
    return allOf(all.map((applied): MaybePromise<Charge> => {
      if (applied.limit !== undefined) return { applied, verdict: overriding(applied.limit) };
      const own = rules.rules[applied.rule.index]!;
      if (keys === undefined || own.rule.lookup === undefined) return { applied, verdict: own };
      return andThen(
        keys.of(domain, own.rule, applied.key, own.limits),
        (known): Charge => ({ applied, verdict: known ?? own }),
      );
    }));
  }

  function reset(request: RuleRequest): MaybePromise<number> {
    checkRuleRequest(request);
    const rules = current;
    const domain = rules.set.domains.get(request.domain);
    if (domain === undefined) return 0;
    const applied = matchRules(domain, request.descriptors, 0);
    return andThen(chargesOf(rules, domain, applied), (charges) => {
      const counters = charges.flatMap(({ applied, verdict }) =>
        verdict.limits.map((limit) => bound.storedKeys(domain.name, limit, applied.key))
      );
      const done = counters.flat().map((key) => store.delete(key));
      return done.some((each) => each instanceof Promise)
        ? Promise.all(done).then(() => counters.length)
        : counters.length;
    });
  }

  function reportVerdict(
    answer: MaybePromise<Verdict>,
    request: RuleRequest,
  ): MaybePromise<Verdict> {
    if (onVerdict === undefined) return answer;
    return andThen(answer, (verdict) => {
      onVerdict(verdict, request);
      return verdict;
    });
  }

  return {
    get rules(): RuleSet {
      return current.set;
    },
    store,
    consume: (request) => reportVerdict(decide(request, "consume"), request),
    peek: (request) => decide(request, "peek"),
    refund: (request) => decide(request, "refund"),
    reset,
    replace(rules): void {
      current = bound.bindAll(rules, current);
    },
    forgetLookups: () => keys?.refresh(),
  };
}
