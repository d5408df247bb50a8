/*
 * The decision engine: requests in, verdicts out.
 *
 * A call takes the configuration as it is when it comes and keeps to it to its end, so that a
 * reload is the change of one reference and no call sees half of one. On a store that answers at
 * once the verdict is there at once. Most requests meet one rule with one limit: that way is the
 * store's lane, without a list of operations.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { checkNow } from "../../core/check.ts";
import type { Clock } from "../../core/clock.ts";
import { combine } from "../../core/combine.ts";
import type { Decision } from "../../core/decision.ts";
import {
  applicableRules,
  type Applied,
  blockedDecision,
  type Descriptor,
  type Domain,
  matchDescriptor,
  OPEN_VERDICT,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "../../core/rules.ts";
import type { Operation, Store } from "../../core/store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { after, type Soon, together } from "./after.ts";
import { binder, type BoundLimit, type BoundRules, type BoundVerdict } from "./bound_rules.ts";
import { keyLimitsCache, type KeyLimitsOptions, type KeyLookup } from "./key_limits.ts";
import { checkRequest } from "./check_request.ts";
import type { RuleFile, RuleSet } from "./rule_set.ts";
import { ruleSetOf } from "./rule_set_of.ts";

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

/** What a rule that holds comes to on the store. */
interface Charge {
  readonly applied: Applied;
  readonly verdict: BoundVerdict;
}

type Way = "consume" | "peek" | "refund";

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
  const { store = memoryStore(), prefix = "rules", clock, lookup, onVerdict } = options;
  const now = clock === undefined ? () => undefined : () => checkNow(clock());
  const instant = clock ?? Date.now;
  const bound = binder(store, prefix, instant, now);
  const keys = lookup && keyLimitsCache(
    lookup,
    bound.bind,
    instant,
    options.onLookupError ?? (() => {}),
    options.lookupCache,
  );
  let current: BoundRules = bound.bindAll(ruleSetOf(options.rules), undefined);

  function decide(request: RuleRequest, way: Way): Soon<Verdict> {
    checkRequest(request);
    const rules = current;
    const domain = rules.set.domains.get(request.domain);
    if (domain === undefined) return OPEN_VERDICT;
    if (request.descriptors.length === 1) {
      const verdict = decideOne(rules, domain, request.descriptors[0]!, request.cost ?? 1, way);
      if (verdict !== undefined) return verdict;
    }
    const applied = applicableRules(domain, request.descriptors, request.cost ?? 1);
    if (applied.length === 0) return OPEN_VERDICT;
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
    way: Way,
  ): Soon<Verdict> | undefined {
    if (override !== undefined) return undefined;
    const match = matchDescriptor(domain, entries);
    if (match === undefined) return OPEN_VERDICT;
    const { rule, key } = match;
    if (rule.lookup !== undefined && keys !== undefined) return undefined;
    const verdict = rules.rules[rule.index]!;
    const applied: Applied = {
      rule,
      key,
      cost: own ?? cost,
      descriptors: FIRST,
      limit: undefined,
    };
    return inLane(applied, verdict, way);
  }

  /** What decides for each rule: its limits, those of its key, or those of the descriptor. */
  function chargesOf(
    rules: BoundRules,
    domain: Domain,
    all: readonly Applied[],
  ): Soon<readonly Charge[]> {
    return together(all.map((applied): Soon<Charge> => {
      if (applied.limit !== undefined) return { applied, verdict: overriding(applied.limit) };
      const own = rules.rules[applied.rule.index]!;
      if (keys === undefined || own.rule.lookup === undefined) return { applied, verdict: own };
      return after(
        keys.of(domain, own.rule, applied.key, own.limits),
        (known): Charge => ({ applied, verdict: known ?? own }),
      );
    }));
  }

  function charge(domain: Domain, charges: readonly Charge[], way: Way): Soon<Verdict> {
    if (charges.length === 1) {
      const { applied, verdict } = charges[0]!;
      const said = inLane(applied, verdict, way);
      if (said !== undefined) return said;
    }
    if (domain.charge === "each") {
      return after(
        together(charges.map((each) => runOne(domain, each, way, way === "peek"))),
        verdictOf,
      );
    }
    const enforced = charges.filter(({ applied }) => !applied.rule.shadow);
    const blocked = way === "consume" &&
      enforced.some(({ applied, verdict }) => verdict.kind === "blocked" && applied.cost > 0);
    return after(
      run(domain, enforced, way, way === "peek" || blocked),
      (verdicts) => withShadows(domain, charges, verdicts, way),
    );
  }

  /** One rule with one limit, by the store's short way; `undefined` where there is none. */
  function inLane(applied: Applied, verdict: BoundVerdict, way: Way): Soon<Verdict> | undefined {
    if (verdict.limits.length !== 1) return undefined;
    const limit = verdict.limits[0]!;
    if (limit.lane === undefined || isChanging(limit)) return undefined;
    const cost = way === "refund" ? -applied.cost : applied.cost;
    const answer = limit.lane(applied.key, cost, way === "peek", now());
    return answer instanceof Promise
      ? answer.then((decision) => verdictOf([said(applied, verdict, decision)]))
      : verdictOf([said(applied, verdict, answer)]);
  }

  /** Whether keys may still hold use under an earlier version of the limit. */
  function isChanging({ older }: BoundLimit): boolean {
    return older.length > 0 && older.some(({ until }) => until > instant());
  }

  /** Shadows come last and by themselves: they report what they would have said, and take then. */
  function withShadows(
    domain: Domain,
    charges: readonly Charge[],
    enforced: readonly RuleVerdict[],
    way: Way,
  ): Soon<Verdict> {
    if (enforced.length === charges.length) return verdictOf(enforced);
    const dry = way === "peek" || enforced.some(({ allowed }) => !allowed);
    const shadows = charges.filter(({ applied }) => applied.rule.shadow);
    return after(
      together(shadows.map((each) => runOne(domain, each, way, dry))),
      (verdicts) => {
        const all = [...enforced, ...verdicts];
        return verdictOf(
          charges.map(({ applied }) =>
            all.find(({ rule, key }) => rule === applied.rule && key === applied.key)!
          ),
        );
      },
    );
  }

  function runOne(domain: Domain, each: Charge, way: Way, dry: boolean): Soon<RuleVerdict> {
    return after(run(domain, [each], way, dry), (verdicts) => verdicts[0]!);
  }

  /** Charges the limits of several rules, all or none. */
  function run(
    domain: Domain,
    charges: readonly Charge[],
    way: Way,
    dry: boolean,
  ): Soon<readonly RuleVerdict[]> {
    const wanted = charges.flatMap(({ applied, verdict }) => {
      const cost = way === "refund" ? -applied.cost : applied.cost;
      return verdict.limits.map((limit) =>
        bound.operation(domain.name, limit, applied.key, cost, dry)
      );
    });
    const decisions = wanted.length === 0
      ? []
      : after(together(wanted), (operations): Soon<readonly Decision[]> =>
        store.run(operations as readonly Operation[], now()));
    return after(decisions, (all) => {
      let next = 0;
      return charges.map(({ applied, verdict }) => {
        const own = all.slice(next, next += verdict.limits.length);
        const decision = own.length > 1 ? combine(own, verdict.capacity) : own[0];
        return said(applied, verdict, decision);
      });
    });
  }

  function reset(request: RuleRequest): Soon<number> {
    checkRequest(request);
    const rules = current;
    const domain = rules.set.domains.get(request.domain);
    if (domain === undefined) return 0;
    const applied = applicableRules(domain, request.descriptors, 0);
    return after(chargesOf(rules, domain, applied), (charges) => {
      const counters = charges.flatMap(({ applied, verdict }) =>
        verdict.limits.map((limit) => bound.storedKeys(domain.name, limit, applied.key))
      );
      const done = counters.flat().map((key) => store.delete(key));
      return done.some((each) => each instanceof Promise)
        ? Promise.all(done).then(() => counters.length)
        : counters.length;
    });
  }

  function told(answer: Soon<Verdict>, request: RuleRequest): Soon<Verdict> {
    if (onVerdict === undefined) return answer;
    return after(answer, (verdict) => {
      onVerdict(verdict, request);
      return verdict;
    });
  }

  return {
    get rules(): RuleSet {
      return current.set;
    },
    store,
    consume: (request) => told(decide(request, "consume"), request),
    peek: (request) => decide(request, "peek"),
    refund: (request) => decide(request, "refund"),
    reset,
    replace(rules): void {
      current = bound.bindAll(rules, current);
    },
    forgetLookups: () => keys?.clear(),
  };
}

function said(
  { rule, key, cost, descriptors }: Applied,
  { kind, algorithms: limits, capacity }: BoundVerdict,
  decided: Decision | undefined,
): RuleVerdict {
  const decision = kind === "blocked" ? blockedDecision(cost) : decided;
  const allowed = rule.shadow || decision === undefined || decision.allowed;
  return { rule, key, cost, descriptors, decision, limits, capacity, allowed };
}

/** A limit that came with its descriptor. */
function overriding(limit: Algorithm | "blocked"): BoundVerdict {
  if (limit === "blocked") return { kind: "blocked", limits: [], algorithms: [], capacity: 0 };
  const only: BoundLimit = { algorithm: limit, lane: undefined, older: [] };
  return { kind: "limited", limits: [only], algorithms: [limit], capacity: limit.capacity };
}
