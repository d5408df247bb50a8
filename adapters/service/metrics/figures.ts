/*
 * The counters of one thread of the service. Each thread counts by itself, in plain numbers; the
 * snapshots of all threads are added up on request. Everything is bounded: rules by the
 * configuration, keys by a sketch.
 */

import type { Decision } from "../../../mod.ts";
import type { RuleSet, RuleVerdict, Verdict } from "../../rules/rules.ts";
import { isByPolicy } from "../outages.ts";
import { type FiguresSnapshot, NO_FIGURES, NO_VERDICTS } from "./figures_snapshot.ts";
import { countTime, noTimes } from "./histogram.ts";
import { type KeyCounters, keyCounters, keyFigures, rotateKeys } from "./key_counters.ts";
import { countKey } from "./key_sketch.ts";
import {
  type Counters,
  countersOf,
  keepRules,
  type RuleCounters,
  ruleCounters,
} from "./rule_counters.ts";

/** The figures of one thread. */
export interface Figures {
  /** Counts a verdict that a caller received. */
  verdict(verdict: Verdict): void;
  /** Counts a call. */
  call(route: string, status: number, seconds: number): void;
  /** Forgets the counts of all rules except these, which are now in force. */
  keep(rules: RuleSet): void;
  /**
   * The counts so far.
   *
   * @param search Text of the keys that are wanted; without it the snapshot has no keys.
   */
  snapshot(search?: string): FiguresSnapshot;
  /** Ends its measurements. */
  close(): void;
}

/** The counter for calls that decide nothing: the page, metrics, faults. */
export const OTHER_CALLS = "other";

/**
 * Makes the figures of a thread.
 *
 * @param store The figures of the store; of the threads that share one, only one should report them.
 * @param clock Milliseconds since the Unix epoch.
 */
export function figures(
  store?: () => Pick<FiguresSnapshot, "store" | "roundTrips">,
  clock: () => number = Date.now,
): Figures {
  const rules = ruleCounters();
  const keys = keyCounters(clock());
  /** The number of calls, by route and status. */
  const calls = new Map<string, Record<number, number>>();
  const latency = noTimes();
  const delays = loopDelays();
  const decisions = { ...NO_VERDICTS };

  return {
    verdict(verdict): void {
      const { allowed, rules: verdicts } = verdict;
      let shadowed = false;
      for (let index = 0; index < verdicts.length; index++) {
        if (countVerdict(rules, keys, verdicts[index]!)) shadowed = true;
      }
      if (isByPolicy(verdict)) decisions.unavailable++;
      else if (!allowed) decisions.refused++;
      else if (shadowed) decisions.shadowRefused++;
      else decisions.admitted++;
    },
    call(route, status, seconds): void {
      let counts = calls.get(route);
      if (counts === undefined) calls.set(route, counts = {});
      counts[status] = (counts[status] ?? 0) + 1;
      if (route !== OTHER_CALLS) countTime(latency, seconds);
    },
    keep: (current) => keepRules(rules, current),
    snapshot(search): FiguresSnapshot {
      rotateKeys(keys, clock());
      return {
        ...NO_FIGURES,
        decisions: { ...decisions },
        rules: [...rules.byName.values()].map((counters) => ({ ...counters })),
        keys: search === undefined ? [] : keyFigures(keys, search),
        calls: Object.fromEntries(
          [...calls].flatMap(([route, counts]) =>
            Object.entries(counts).map(([status, count]) => [`${route} ${status}`, count])
          ),
        ),
        latency: [...latency.counts],
        latencySum: latency.sum,
        loopDelays: delays.times,
        ...store?.(),
        threads: 1,
      };
    },
    close: delays.stop,
  };
}

/**
 * Counts the verdict of a rule on a key; answers whether the rule refused, or would have refused
 * without shadow mode.
 */
function countVerdict(
  rules: RuleCounters,
  keys: KeyCounters,
  { rule, key, cost, decision }: RuleVerdict,
): boolean {
  const own = countersOf(rules, rule, key);
  if (decision?.source === "policy") {
    own.unavailable++;
    return false;
  }
  if (decision === undefined || decision.allowed) {
    own.admitted++;
    if (decision !== undefined) countHits(own, decision, cost);
    if (cost > 0) countKey(keys.used[0], own, key, cost);
    return false;
  }
  countKey(keys.refused[0], own, key, 1);
  own.overLimit += cost;
  if (rule.shadow) own.shadowRefused++;
  else own.refused++;
  return rule.shadow;
}

/** The share of a limit above which a unit is near it: the default of Envoy's service. */
const NEAR = 0.8;

/**
 * Counts the units that were taken near the limit and over it, as Envoy's service counts hits: if a
 * call crosses a threshold, its units are split between both sides.
 */
function countHits(
  own: Pick<Counters, "nearLimit" | "overLimit">,
  { limit, remaining, debt }: Decision,
  cost: number,
): void {
  const used = limit - remaining + debt;
  const beyond = (threshold: number) => Math.max(0, Math.min(cost, used - threshold));
  const over = beyond(limit);
  own.overLimit += over;
  own.nearLimit += beyond(Math.floor(NEAR * limit)) - over;
}

/** Milliseconds between measurements. */
const EVERY = 100;

/**
 * Measures how late a thread's timers fire, because its calls wait equally long. It also works on
 * runtimes without such a measurement of their own.
 */
function loopDelays() {
  const times = noTimes();
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    countTime(times, Math.max(0, now - last - EVERY) / 1_000);
    last = now;
  }, EVERY);
  (timer as { unref?: () => void }).unref?.();
  return { times, stop: () => clearInterval(timer) };
}
