/*
 * What a thread of the service counts. Each thread counts by itself, in plain numbers; the snapshots
 * of all threads are added up when somebody asks. Everything is bounded: rules by the configuration,
 * keys by a sketch.
 */

import type { RuleSet, Verdict } from "../../rules/rules.ts";
import type { FiguresSnapshot } from "./figures_snapshot.ts";
import { countTime, noTimes } from "./histogram.ts";
import { loopDelays } from "./loop_delays.ts";
import { countRefusal, halveRefusals, type RefusedKeys } from "./refused_keys.ts";
import { countedRules, countVerdict, keepRules, ruleCounters } from "./rule_counters.ts";

/** The figures of one thread. */
export interface Figures {
  /** Counts a verdict that a caller was given. */
  verdict(verdict: Verdict): void;
  /** Counts a call. */
  call(route: string, status: number, seconds: number): void;
  /** Forgets what was counted of all other rules: these are the ones that there are now. */
  keep(rules: RuleSet): void;
  /** What was counted so far. */
  snapshot(): FiguresSnapshot;
  /** Ends its measures. */
  close(): void;
}

/** Calls by route and status. */
type CallCounters = Map<string, Map<number, number>>;

const HALVED_EVERY = 60_000;

const NO_STORE = { store: {}, roundTrips: undefined };

/**
 * Makes the figures of a thread.
 *
 * @param store The figures of the store; of the threads that share one, only one should report them.
 */
export function figures(
  store: () => Pick<FiguresSnapshot, "store" | "roundTrips"> = () => NO_STORE,
): Figures {
  const rules = ruleCounters();
  const keys: RefusedKeys = new Map();
  const calls: CallCounters = new Map();
  const latency = noTimes();
  const delays = loopDelays();
  let halvedAt = 0;

  return {
    verdict({ rules: verdicts }): void {
      for (let place = 0; place < verdicts.length; place++) {
        const verdict = verdicts[place]!;
        if (countVerdict(rules, verdict)) countRefusal(keys, verdict.rule, verdict.key);
      }
    },
    call(route, status, seconds): void {
      countCall(calls, route, status);
      countTime(latency, seconds);
    },
    keep: (current) => keepRules(rules, current),
    snapshot(): FiguresSnapshot {
      const all = {
        rules: countedRules(rules),
        keys: [...keys.values()].map((counter) => ({ ...counter })),
        calls: callFigures(calls),
        latency: [...latency.counts],
        latencySum: latency.sum,
        loopDelays: delays.times,
        ...store(),
        process: {},
        threads: 1,
      };
      const now = performance.now();
      if (now - halvedAt >= HALVED_EVERY) {
        halvedAt = now;
        halveRefusals(keys);
      }
      return all;
    },
    close: delays.stop,
  };
}

function countCall(calls: CallCounters, route: string, status: number): void {
  let statuses = calls.get(route);
  if (statuses === undefined) calls.set(route, statuses = new Map());
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

function callFigures(calls: CallCounters): FiguresSnapshot["calls"] {
  const flat = [...calls].flatMap(([route, statuses]) =>
    [...statuses].map(([status, number]) => [`${route} ${status}`, number] as const)
  );
  return Object.fromEntries(flat);
}
