/*
 * What a service counts. Each thread counts by itself, in plain numbers; the snapshots of all
 * threads are added up when somebody asks. Everything is bounded: rules by the configuration, keys
 * by a sketch.
 *
 * The keys refused most are found with a bounded number of counters: a new key takes the place of
 * the one refused least and its count with it, so that a count is never too small, and a key that
 * is refused often is never missed. Counts are halved each minute, so that the list is about now.
 *
 * Source: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k
 * elements in data streams" (2005), the space-saving algorithm.
 */

import {
  OVERRIDE,
  type Rule,
  type RuleSet,
  type RuleVerdict,
  type Verdict,
} from "../../rules/rules.ts";

/** What one rule said so far. */
export interface RuleFigures {
  /** The rule's domain. */
  readonly domain: string;
  /** Its name, or its label. */
  readonly rule: string;
  /** Calls that it let pass. */
  readonly admitted: number;
  /** Calls that it refused. */
  readonly refused: number;
  /** What a rule in the shadow would have refused. */
  readonly shadowRefused: number;
  /** Admitted with at most a fifth of the limit left. */
  readonly nearLimit: number;
}

/** A key, and about how often it was refused lately. */
export interface RefusedKey {
  /** The rule's domain. */
  readonly domain: string;
  /** The name of the rule that refused, or its label. */
  readonly rule: string;
  /** The counter's key: `user=42`. */
  readonly key: string;
  /** About how often. */
  readonly refused: number;
}

/** What was counted, as plain data that goes from thread to thread. */
export interface FiguresSnapshot {
  /** By rule. */
  readonly rules: readonly RuleFigures[];
  /** The keys refused most. */
  readonly keys: readonly RefusedKey[];
  /** HTTP and gRPC calls by route and status: `"/v1/consume 200"`. */
  readonly calls: Readonly<Record<string, number>>;
  /** How many calls took at most as long as each of `LATENCY_BUCKETS`, and longer. */
  readonly latency: readonly number[];
  /** Seconds of all calls together. */
  readonly latencySum: number;
  /** Figures of the store by name. */
  readonly store: Readonly<Record<string, number>>;
  /** How many threads they are of. */
  readonly threads: number;
}

/** The upper ends of the latency histogram's buckets, in seconds. */
export const LATENCY_BUCKETS: readonly number[] = [
  0.0001,
  0.00025,
  0.0005,
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
];

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

type Counters = { -readonly [Name in keyof RuleFigures]: RuleFigures[Name] };
type KeyCounter = { -readonly [Name in keyof RefusedKey]: RefusedKey[Name] };

const MOST_KEYS = 100;
const HALVED_EVERY = 60_000;

/**
 * Makes the figures of a thread.
 *
 * @param store The figures of the store; only one thread of those that share it should tell them.
 */
export function figures(store: () => Readonly<Record<string, number>> = () => ({})): Figures {
  const byName = new Map<string, Counters>();
  const byRule = new WeakMap<Rule, Counters>();
  const keys = new Map<string, KeyCounter>();
  const calls = new Map<string, Map<number, number>>();
  const latency = new Float64Array(LATENCY_BUCKETS.length + 1);
  let latencySum = 0;
  let halvedAt = 0;

  function countersOf(rule: Rule): Counters {
    const known = byRule.get(rule);
    if (known !== undefined) return known;
    const name = nameOf(rule);
    const counters: Counters = byName.get(name) ?? {
      domain: rule.domain,
      rule: rule.name ?? rule.label,
      admitted: 0,
      refused: 0,
      shadowRefused: 0,
      nearLimit: 0,
    };
    byName.set(name, counters);
    byRule.set(rule, counters);
    return counters;
  }

  function count(said: RuleVerdict): void {
    const { rule, decision, key } = said;
    const counters = countersOf(rule);
    if (decision === undefined || decision.allowed) {
      counters.admitted++;
      if (decision !== undefined && decision.remaining * 5 <= decision.limit) counters.nearLimit++;
    } else {
      if (rule.shadow) counters.shadowRefused++;
      else counters.refused++;
      countKey(rule, key);
    }
  }

  function countKey(rule: Rule, key: string): void {
    const name = `${rule.domain}\0${rule.label}\0${key}`;
    const known = keys.get(name);
    if (known !== undefined) {
      known.refused++;
      return;
    }
    let refused = 1;
    if (keys.size >= MOST_KEYS) {
      const least = leastRefused();
      refused += keys.get(least)!.refused;
      keys.delete(least);
    }
    keys.set(name, { domain: rule.domain, rule: rule.name ?? rule.label, key, refused });
  }

  function leastRefused(): string {
    let name = "";
    let least = Infinity;
    for (const [each, { refused }] of keys) {
      if (refused < least) [name, least] = [each, refused];
    }
    return name;
  }

  function halve(): void {
    const now = performance.now();
    if (now - halvedAt < HALVED_EVERY) return;
    halvedAt = now;
    for (const [name, counter] of keys) {
      counter.refused = Math.floor(counter.refused / 2);
      if (counter.refused === 0) keys.delete(name);
    }
  }

  return {
    verdict({ rules }): void {
      for (let place = 0; place < rules.length; place++) count(rules[place]!);
    },
    call(route, status, seconds): void {
      let statuses = calls.get(route);
      if (statuses === undefined) calls.set(route, statuses = new Map());
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      let bucket = 0;
      while (bucket < LATENCY_BUCKETS.length && seconds > LATENCY_BUCKETS[bucket]!) bucket++;
      latency[bucket]!++;
      latencySum += seconds;
    },
    keep({ rules, domains }): void {
      const names = new Set(rules.map(nameOf));
      for (const domain of domains.keys()) names.add(nameOf({ domain, label: OVERRIDE }));
      for (const name of byName.keys()) if (!names.has(name)) byName.delete(name);
    },
    snapshot(): FiguresSnapshot {
      const flat = [...calls].flatMap(([route, statuses]) =>
        [...statuses].map(([status, number]) => [`${route} ${status}`, number] as const)
      );
      const all = {
        rules: [...byName.values()].map((counters) => ({ ...counters })),
        keys: [...keys.values()].map((counter) => ({ ...counter })),
        calls: Object.fromEntries(flat),
        latency: [...latency],
        latencySum,
        store: store(),
        threads: 1,
      };
      halve();
      return all;
    },
  };
}

/** What tells rules apart over their versions. */
function nameOf(
  { domain, label, name }: Pick<Rule, "domain" | "label"> & Partial<Pick<Rule, "name">>,
): string {
  return `${domain}\0${label}\0${name ?? ""}`;
}

/** Adds up the snapshots of several threads. */
export function addFigures(all: readonly FiguresSnapshot[]): FiguresSnapshot {
  const rules = new Map<string, Counters>();
  const keys = new Map<string, KeyCounter>();
  const calls: Record<string, number> = {};
  for (const snapshot of all) {
    for (const figure of snapshot.rules) addRule(rules, figure);
    for (const { refused, ...key } of snapshot.keys) {
      const name = JSON.stringify(key);
      keys.set(name, { ...key, refused: refused + (keys.get(name)?.refused ?? 0) });
    }
    for (const [name, number] of Object.entries(snapshot.calls)) {
      calls[name] = (calls[name] ?? 0) + number;
    }
  }
  return {
    rules: [...rules.values()],
    keys: [...keys.values()].sort((one, other) => other.refused - one.refused).slice(0, MOST_KEYS),
    calls,
    latency: Array.from(
      { length: LATENCY_BUCKETS.length + 1 },
      (_, place) => all.reduce((sum, { latency }) => sum + latency[place]!, 0),
    ),
    latencySum: all.reduce((sum, snapshot) => sum + snapshot.latencySum, 0),
    store: Object.assign({}, ...all.map(({ store }) => store)),
    threads: all.reduce((sum, { threads }) => sum + threads, 0),
  };
}

/** The figures of rules that are there, and of limits that came with descriptors. */
export function figuresOfRules(
  all: readonly RuleFigures[],
  { rules, domains }: RuleSet,
): readonly RuleFigures[] {
  const known = new Set(rules.map(({ domain, name, label }) => `${domain}\0${name ?? label}`));
  for (const domain of domains.keys()) known.add(`${domain}\0${OVERRIDE}`);
  return all.filter(({ domain, rule }) => known.has(`${domain}\0${rule}`));
}

function addRule(rules: Map<string, Counters>, figure: RuleFigures): void {
  const name = `${figure.domain}\0${figure.rule}`;
  const sum = rules.get(name);
  if (sum === undefined) {
    rules.set(name, { ...figure });
    return;
  }
  sum.admitted += figure.admitted;
  sum.refused += figure.refused;
  sum.shadowRefused += figure.shadowRefused;
  sum.nearLimit += figure.nearLimit;
}
