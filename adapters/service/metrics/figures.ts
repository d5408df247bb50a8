/*
 * What a thread of the service counts. Each thread counts by itself, in plain numbers; the snapshots
 * of all threads are added up when somebody asks. Everything is bounded: rules by the configuration,
 * keys by a sketch.
 */

import type { RuleSet, Verdict } from "../../rules/rules.ts";
import { type FiguresSnapshot, LATENCY_BUCKETS } from "./figures_snapshot.ts";
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
}

/** Calls by route and status, and how long they took. */
interface CallCounters {
  readonly routes: Map<string, Map<number, number>>;
  readonly latency: Float64Array;
  latencySum: number;
}

const HALVED_EVERY = 60_000;

/**
 * Makes the figures of a thread.
 *
 * @param store The figures of the store; of the threads that share one, only one should report them.
 */
export function figures(store: () => Readonly<Record<string, number>> = () => ({})): Figures {
  const rules = ruleCounters();
  const keys: RefusedKeys = new Map();
  const latency = new Float64Array(LATENCY_BUCKETS.length + 1);
  const calls: CallCounters = { routes: new Map(), latency, latencySum: 0 };
  let halvedAt = 0;

  return {
    verdict({ rules: verdicts }): void {
      for (let place = 0; place < verdicts.length; place++) {
        const verdict = verdicts[place]!;
        if (countVerdict(rules, verdict)) countRefusal(keys, verdict.rule, verdict.key);
      }
    },
    call: (route, status, seconds) => countCall(calls, route, status, seconds),
    keep: (current) => keepRules(rules, current),
    snapshot(): FiguresSnapshot {
      const all = {
        rules: countedRules(rules),
        keys: [...keys.values()].map((counter) => ({ ...counter })),
        ...callFigures(calls),
        store: store(),
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
  };
}

function countCall(calls: CallCounters, route: string, status: number, seconds: number): void {
  let statuses = calls.routes.get(route);
  if (statuses === undefined) calls.routes.set(route, statuses = new Map());
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  let bucket = 0;
  while (bucket < LATENCY_BUCKETS.length && seconds > LATENCY_BUCKETS[bucket]!) bucket++;
  calls.latency[bucket]!++;
  calls.latencySum += seconds;
}

function callFigures(
  { routes, latency, latencySum }: CallCounters,
): Pick<FiguresSnapshot, "calls" | "latency" | "latencySum"> {
  const flat = [...routes].flatMap(([route, statuses]) =>
    [...statuses].map(([status, number]) => [`${route} ${status}`, number] as const)
  );
  return { calls: Object.fromEntries(flat), latency: [...latency], latencySum };
}
