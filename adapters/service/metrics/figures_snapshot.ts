/*
 * The counts of a service, as plain data that goes from thread to thread and is added up.
 */

import { OVERRIDE, type Rule, type RuleSet } from "../../rules/rules.ts";
import { type Histogram, noTimes } from "./histogram.ts";

/** Verdicts so far; each call is one of them. */
export interface VerdictFigures {
  /** Calls admitted. */
  readonly admitted: number;
  /** Calls refused. */
  readonly refused: number;
  /** Calls admitted that a shadow rule would have refused. */
  readonly shadowRefused: number;
  /** Calls admitted or refused by the policy for a store that does not answer. */
  readonly unavailable: number;
}

/** The verdicts of one rule so far. */
export interface RuleFigures extends VerdictFigures {
  /** The rule's domain. */
  readonly domain: string;
  /** Its name, or its label. */
  readonly rule: string;
  /** The counter's key, if metrics count each counter of the rule by itself: `user=42`. */
  readonly key: string | undefined;
  /** Whether it is a shadow rule, which never refuses. */
  readonly shadow: boolean;
  /** Units taken of the last fifth of the limit. */
  readonly nearLimit: number;
  /** Units refused, or charged beyond the limit. */
  readonly overLimit: number;
}

/** A key, and how much it took and how often it was refused in the last half hour or more. */
export interface KeyFigures {
  /** The rule's domain. */
  readonly domain: string;
  /** The rule's name, or its label. */
  readonly rule: string;
  /** The first 256 characters of the counter's key: `user=42`. */
  readonly key: string;
  /** Units that it took, at least; exact while there are few keys. */
  readonly used: number;
  /** How often it was refused, at least. */
  readonly refused: number;
  /** Whether the rule is a shadow rule, so that the key was admitted nevertheless. */
  readonly shadow: boolean;
}

/** The counts of a thread, or of all threads. */
export interface FiguresSnapshot {
  /** All decisions, each once, however many rules held. */
  readonly decisions: VerdictFigures;
  /** By rule. */
  readonly rules: readonly RuleFigures[];
  /** The keys used most and those refused most. */
  readonly keys: readonly KeyFigures[];
  /** HTTP and gRPC calls by route and status: `"/v1/consume 200"`. */
  readonly calls: Readonly<Record<string, number>>;
  /** How many deciding calls fell into each of `LATENCY_BUCKETS`, and how many took longer. */
  readonly latency: readonly number[];
  /** Seconds of these calls together. */
  readonly latencySum: number;
  /** How late the threads' timers came. */
  readonly loopDelays: Histogram;
  /** How long Redis took to answer, if the store is on Redis. */
  readonly roundTrips: Histogram | undefined;
  /** Figures of the store by name. */
  readonly store: Readonly<Record<string, number>>;
  /** Figures of the service and its process, by the names of metrics. */
  readonly process: Readonly<Record<string, number>>;
  /** How many threads the counts come from. */
  readonly threads: number;
  /** Since when the store has not answered, in milliseconds since the Unix epoch; 0 if it does. */
  readonly unavailableSince: number;
}

/**
 * The most keys of a snapshot: so many of the keys used most, and as many of the keys refused most.
 */
export const MAX_KEYS = 50;

/** Whether any of the texts contains the searched text, in capitals or not. */
export function matchesSearch(search: string, ...texts: readonly string[]): boolean {
  const sought = search.toLowerCase();
  return sought === "" || texts.some((text) => text.toLowerCase().includes(sought));
}

/** The state before any decision. */
export const NO_VERDICTS: VerdictFigures = {
  admitted: 0,
  refused: 0,
  shadowRefused: 0,
  unavailable: 0,
};

/** The state before anything is counted. */
export const NO_FIGURES: FiguresSnapshot = {
  decisions: NO_VERDICTS,
  rules: [],
  keys: [],
  calls: {},
  latency: noTimes().counts,
  latencySum: 0,
  loopDelays: noTimes(),
  roundTrips: undefined,
  store: {},
  process: {},
  threads: 0,
  unavailableSince: 0,
};

/** Adds up the snapshots of several threads. */
export function addFigures(all: readonly FiguresSnapshot[]): FiguresSnapshot {
  return {
    ...all.map(({ rules: _rules, keys: _keys, ...sums }) => sums).reduce(added, NO_FIGURES),
    rules: addedByName(all.flatMap(({ rules }) => rules)),
    keys: mostKeys(addedByName(all.flatMap(({ keys }) => keys))),
    unavailableSince: earliest(all.map(({ unavailableSince }) => unavailableSince)),
  };
}

/** The earliest of some instants; 0 for an empty list. */
function earliest(instants: readonly number[]): number {
  const known = instants.filter((instant) => instant > 0);
  return known.length === 0 ? 0 : Math.min(...known);
}

/**
 * The sum of two sets of figures of one form: each number is added; texts are taken from the first.
 */
function added<Figures>(one: Figures, other: Figures): Figures {
  if (one === undefined || other === undefined) return one ?? other;
  if (typeof one === "number") return one + (other as number) as Figures;
  if (typeof one !== "object") return one;
  const sums = (Array.isArray(one) ? [...one] : { ...one }) as Record<string, unknown>;
  for (const name in other) sums[name] = added(sums[name], other[name]);
  return sums as Figures;
}

/** Figures of one name become one. */
function addedByName<Figures extends KeyFigures | RuleFigures>(
  figures: readonly Figures[],
): readonly Figures[] {
  const byName = new Map<string, Figures>();
  for (const each of figures) {
    const name = keyName(each);
    byName.set(name, added(byName.get(name), each)!);
  }
  return [...byName.values()];
}

/** The keys used most and the keys refused most, among these keys. */
function mostKeys(all: readonly KeyFigures[]): readonly KeyFigures[] {
  const largest = (figure: "used" | "refused") =>
    all.filter((key) => key[figure] > 0)
      .sort((one, other) => other[figure] - one[figure])
      .slice(0, MAX_KEYS);
  return [...new Set([...largest("refused"), ...largest("used")])];
}

/**
 * Makes the check whether figures belong to an existing rule, or to limits that come with
 * descriptors.
 */
export function figuresOf({ rules, domains }: RuleSet): (figures: RuleFigures) => boolean {
  const known = new Set(rules.map(figuresName));
  for (const domain of domains.keys()) known.add(ruleName({ domain, rule: OVERRIDE }));
  return (figures) => known.has(ruleName(figures));
}

/** The name of a rule among all domains. */
export function ruleName({ domain, rule }: Pick<RuleFigures, "domain" | "rule">): string {
  return `${domain}\0${rule}`;
}

/** The name by which the figures of a rule are found. */
export function figuresName(
  { domain, label, name = label }: Pick<Rule, "domain" | "name" | "label">,
): string {
  return ruleName({ domain, rule: name });
}

/** The name of a key, unique among all rules. */
export function keyName(
  { domain, rule, key = "" }: Pick<RuleFigures, "domain" | "rule" | "key">,
): string {
  return `${domain}\0${rule}\0${key}`;
}
