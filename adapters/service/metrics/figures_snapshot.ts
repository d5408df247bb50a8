/*
 * What a service has counted, as plain data that goes from thread to thread and is added up.
 */

import { OVERRIDE, type RuleSet } from "../../rules/rules.ts";
import { addTimes, type Histogram } from "./histogram.ts";

/** What one rule said so far. */
export interface RuleFigures {
  /** The rule's domain. */
  readonly domain: string;
  /** Its name, or its label. */
  readonly rule: string;
  /** The counter's key, if metrics count each of the rule's by itself: `user=42`. */
  readonly key: string | undefined;
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
  /** Whether the rule is in the shadow, so that the key was admitted all the same. */
  readonly shadow: boolean;
}

/** What was counted. */
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

/** The most keys of a snapshot. */
export const MOST_KEYS = 100;

/** Adds up the snapshots of several threads. */
export function addFigures(all: readonly FiguresSnapshot[]): FiguresSnapshot {
  const sum = (number: (snapshot: FiguresSnapshot) => number) =>
    all.reduce((sum, snapshot) => sum + number(snapshot), 0);
  const roundTrips = all.flatMap(({ roundTrips }) => roundTrips ?? []);
  const times = all.map(({ latency, latencySum }) => ({ counts: latency, sum: latencySum }));
  const { counts: latency, sum: latencySum } = addTimes(times);
  return {
    rules: merged(all.flatMap(({ rules }) => rules), keyName, addRule),
    keys: merged(all.flatMap(({ keys }) => keys), keyName, addKey)
      .sort((one, other) => other.refused - one.refused)
      .slice(0, MOST_KEYS),
    calls: addNumbers(all.map(({ calls }) => calls)),
    latency,
    latencySum,
    loopDelays: addTimes(all.map(({ loopDelays }) => loopDelays)),
    roundTrips: roundTrips.length === 0 ? undefined : addTimes(roundTrips),
    store: addNumbers(all.map(({ store }) => store)),
    process: Object.assign({}, ...all.map(({ process }) => process)),
    threads: sum(({ threads }) => threads),
  };
}

/** The figures of rules that are there, and of limits that came with descriptors. */
export function figuresOfRules(
  all: readonly RuleFigures[],
  { rules, domains }: RuleSet,
): readonly RuleFigures[] {
  const known = new Set(
    rules.map(({ domain, name, label }) => ruleName({ domain, rule: name ?? label })),
  );
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
    admitted: one.admitted + other.admitted,
    refused: one.refused + other.refused,
    shadowRefused: one.shadowRefused + other.shadowRefused,
    nearLimit: one.nearLimit + other.nearLimit,
  };
}

function addKey(one: RefusedKey, other: RefusedKey): RefusedKey {
  return { ...one, refused: one.refused + other.refused };
}

function ruleName({ domain, rule }: Pick<RuleFigures, "domain" | "rule">): string {
  return `${domain}\0${rule}`;
}

function keyName({ domain, rule, key = "" }: RefusedKey | RuleFigures): string {
  return `${domain}\0${rule}\0${key}`;
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
