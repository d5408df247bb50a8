/*
 * What a service has counted, as plain data that goes from thread to thread and is added up.
 */

import { OVERRIDE, type Rule, type RuleSet } from "../../rules/rules.ts";
import { addTimes, type Histogram } from "./histogram.ts";

/** Verdicts so far; each call is one of them. */
export interface VerdictFigures {
  /** Calls admitted. */
  readonly admitted: number;
  /** Calls refused. */
  readonly refused: number;
  /** Calls admitted that a shadow rule would have refused. */
  readonly shadowRefused: number;
}

/** What one rule said so far. */
export interface RuleFigures extends VerdictFigures {
  /** The rule's domain. */
  readonly domain: string;
  /** Its name, or its label. */
  readonly rule: string;
  /** The counter's key, if metrics count each of the rule's by itself: `user=42`. */
  readonly key: string | undefined;
  /** Whether it is a shadow rule, which never refuses. */
  readonly shadow: boolean;
  /** Admitted with at most a fifth of the limit left. */
  readonly nearLimit: number;
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
  /** Whether the rule is a shadow rule, so that the key was admitted all the same. */
  readonly shadow: boolean;
}

/** What was counted. */
export interface FiguresSnapshot {
  /** All decisions, each once, however many rules held. */
  readonly decisions: VerdictFigures;
  /** By rule. */
  readonly rules: readonly RuleFigures[];
  /** The keys used most and those refused most. */
  readonly keys: readonly KeyFigures[];
  /** HTTP and gRPC calls by route and status: `"/v1/consume 200"`. */
  readonly calls: Readonly<Record<string, number>>;
  /** How many calls that decide took at most as long as each of `LATENCY_BUCKETS`, and longer. */
  readonly latency: readonly number[];
  /** Seconds of these calls together. */
  readonly latencySum: number;
  /** How late the threads' timers came. */
  readonly loopDelays: Histogram;
  /** How long Redis took to answer, where it is asked. */
  readonly roundTrips: Histogram | undefined;
  /** Figures of the store by name. */
  readonly store: Readonly<Record<string, number>>;
  /** Figures of the service and its process, by the names of metrics. */
  readonly process: Readonly<Record<string, number>>;
  /** How many threads they are of. */
  readonly threads: number;
}

/** The most keys of a snapshot: so many of those used most, and as many of those refused most. */
export const MOST_KEYS = 50;

/** Whether any of the texts contains what is searched for, in capitals or not. */
export function matchesSearch(search: string, ...texts: readonly string[]): boolean {
  const sought = search.toLowerCase();
  return sought === "" || texts.some((text) => text.toLowerCase().includes(sought));
}

/** Adds up the snapshots of several threads. */
export function addFigures(all: readonly FiguresSnapshot[]): FiguresSnapshot {
  const roundTrips = all.flatMap(({ roundTrips }) => roundTrips ?? []);
  const times = all.map(({ latency, latencySum }) => ({ counts: latency, sum: latencySum }));
  const { counts: latency, sum: latencySum } = addTimes(times);
  return {
    decisions: all.map(({ decisions }) => decisions).reduce(addVerdicts, NO_VERDICTS),
    rules: merged(all.flatMap(({ rules }) => rules), keyName, addRule),
    keys: mostKeys(all.flatMap(({ keys }) => keys)),
    calls: addNumbers(all.map(({ calls }) => calls)),
    latency,
    latencySum,
    loopDelays: addTimes(all.map(({ loopDelays }) => loopDelays)),
    roundTrips: roundTrips.length === 0 ? undefined : addTimes(roundTrips),
    store: addNumbers(all.map(({ store }) => store)),
    process: Object.assign({}, ...all.map(({ process }) => process)),
    threads: all.reduce((sum, { threads }) => sum + threads, 0),
  };
}

/** Figures of the same keys added up, and of them those used most and those refused most. */
function mostKeys(keys: readonly KeyFigures[]): readonly KeyFigures[] {
  const all = merged(keys, keyName, (one, other) => ({
    ...one,
    used: one.used + other.used,
    refused: one.refused + other.refused,
  }));
  const largest = (figure: "used" | "refused") =>
    all.filter((key) => key[figure] > 0)
      .sort((one, other) => other[figure] - one[figure])
      .slice(0, MOST_KEYS);
  return [...new Set([...largest("refused"), ...largest("used")])];
}

/** The figures of rules that are there, and of limits that came with descriptors. */
export function figuresOfRules(
  all: readonly RuleFigures[],
  { rules, domains }: RuleSet,
): readonly RuleFigures[] {
  const known = new Set(rules.map(figuresName));
  for (const domain of domains.keys()) known.add(ruleName({ domain, rule: OVERRIDE }));
  return all.filter((figures) => known.has(ruleName(figures)));
}

/** Figures of one name become one. */
function merged<Figure>(
  figures: readonly Figure[],
  nameOf: (figure: Figure) => string,
  add: (one: Figure, other: Figure) => Figure,
): Figure[] {
  const byName = new Map<string, Figure>();
  for (const figure of figures) {
    const name = nameOf(figure);
    const other = byName.get(name);
    byName.set(name, other === undefined ? figure : add(other, figure));
  }
  return [...byName.values()];
}

function addRule(one: RuleFigures, other: RuleFigures): RuleFigures {
  return {
    ...one,
    ...addVerdicts(one, other),
    nearLimit: one.nearLimit + other.nearLimit,
  };
}

/** What there is before any decision. */
export const NO_VERDICTS: VerdictFigures = { admitted: 0, refused: 0, shadowRefused: 0 };

function addVerdicts(one: VerdictFigures, other: VerdictFigures): VerdictFigures {
  return {
    admitted: one.admitted + other.admitted,
    refused: one.refused + other.refused,
    shadowRefused: one.shadowRefused + other.shadowRefused,
  };
}

/** The name of a rule among all domains. */
export function ruleName({ domain, rule }: Pick<RuleFigures, "domain" | "rule">): string {
  return `${domain}\0${rule}`;
}

/** The name by which the figures of a rule are found. */
export function figuresName(
  { domain, name, label }: Pick<Rule, "domain" | "name" | "label">,
): string {
  return ruleName({ domain, rule: name ?? label });
}

function keyName(figures: KeyFigures | RuleFigures): string {
  return `${ruleName(figures)}\0${figures.key ?? ""}`;
}

function addNumbers(
  all: readonly Readonly<Record<string, number>>[],
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const numbers of all) {
    for (const [name, number] of Object.entries(numbers)) sums[name] = (sums[name] ?? 0) + number;
  }
  return sums;
}
