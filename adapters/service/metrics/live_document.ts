/*
 * The content of the page, as one document of bounded size: `GET /v1/live`.
 */

import type { Policy } from "../../../mod.ts";
import { OVERRIDE, type Rule, type RuleSet } from "../../rules/rules.ts";
import {
  figuresName,
  type FiguresSnapshot,
  type KeyFigures,
  matchesSearch,
  type VerdictFigures,
} from "./figures_snapshot.ts";
import type { History, HistoryTotals, VerdictHistory } from "./history.ts";
import { keysSince } from "./key_counters.ts";

/** The most rules of a document. */
const MAX_RULES = 100;

/** The request of a viewer of the page. */
export interface LiveRequest {
  /** Text of rules and keys. */
  readonly search: string;
  /** Whether the viewer may see keys, and where rules come from. */
  readonly own: boolean;
}

/** The document. All instants are milliseconds since the Unix epoch. */
export interface LiveDocument extends Pick<FiguresSnapshot, "threads" | "decisions" | "store"> {
  readonly now: number;
  readonly startedAt: number;
  /** Whether the service has a token. */
  readonly needsToken: boolean;
  readonly loaded: LoadedFigures;
  readonly domains: readonly string[];
  /** The last 60 minutes. */
  readonly history: HistoryTotals;
  /**
   * How many rules the search finds; if there are more than 100, only the most active are listed.
   */
  readonly rulesFound: number;
  readonly rules: readonly LiveRule[];
  /** The keys that the search finds; only for viewers who may see them. */
  readonly keys: readonly KeyFigures[] | undefined;
  /** The instant from which keys are counted: 30 to 60 minutes ago. */
  readonly keysSince: number;
  readonly storeKind: StoreKind;
  /**
   * Since when the store has not answered, and how calls are decided meanwhile; `null` if it
   * answers.
   */
  readonly outage: { readonly since: number; readonly policy: OutagePolicy } | null;
}

/** How calls are decided while the store does not answer; `undefined` if the store decides that. */
export type OutagePolicy = "throw" | "allow" | "deny" | undefined;

/** When the current rules were loaded, and whether a load has failed since. */
export interface LoadedFigures {
  readonly at: number;
  /** The first 12 digits of the SHA-256 of their files. */
  readonly version: string;
  readonly rules: number;
  /** When a load failed, if no later one succeeded; otherwise `null`. */
  readonly failedAt: number | null;
  /** Where rules come from; only for viewers who may see keys. */
  readonly source?: string;
  /** Why the load failed; likewise. */
  readonly reason?: string;
}

/** A rule, and what it decided since the start and in the last 60 minutes. */
export interface LiveRule
  extends VerdictFigures, Pick<Rule, "domain" | "label" | "kind" | "shadow"> {
  /** Its name, or its label. */
  readonly rule: string;
  /** Whether keys may have limits of their own. */
  readonly ownLimits: boolean;
  readonly limits: readonly LiveLimit[];
  /** Absent if the rule decided nothing. */
  readonly history: VerdictHistory | undefined;
}

/** A limit of a rule. */
export interface LiveLimit extends Pick<Policy, "limit" | "period" | "burst"> {
  readonly algorithm: string;
}

/** Where use is kept; `"own"` is a store that the program passed. */
export type StoreKind = "memory" | "shared" | "redis" | "postgres" | "sqlite" | "own";

/** The facts that a document is made from. */
export interface LiveFacts
  extends Pick<LiveDocument, "now" | "startedAt" | "needsToken" | "storeKind"> {
  readonly loaded: Required<Omit<LoadedFigures, "rules">>;
  readonly rules: RuleSet;
  readonly figures: FiguresSnapshot;
  readonly history: History;
  /** Whether all rules are shadow rules. */
  readonly shadow: boolean;
  readonly outagePolicy: OutagePolicy;
}

/** Makes the document for a viewer. */
export function liveDocument(
  { rules: set, figures, history, shadow, loaded, outagePolicy: policy, ...facts }: LiveFacts,
  { search, own }: LiveRequest,
): LiveDocument {
  const { source, reason, ...times } = loaded;
  const found = shownRules(set, history)
    .filter(({ domain, label, name = label }) => matchesSearch(search, domain, name, label));
  return {
    ...facts,
    threads: figures.threads,
    loaded: {
      ...times,
      rules: set.rules.filter(isShown).length,
      ...(own ? { source, reason } : {}),
    },
    domains: [...set.domains.keys()],
    decisions: figures.decisions,
    history: history.totals(),
    rulesFound: found.length,
    rules: mostActive(found, history).map((rule) => liveRule(rule, shadow, history)),
    keys: own ? figures.keys : undefined,
    keysSince: Math.max(facts.startedAt, keysSince(facts.now)),
    store: figures.store,
    outage: figures.unavailableSince === 0 ? null : { since: figures.unavailableSince, policy },
  };
}

type ShownRule = Pick<
  Rule,
  "index" | "domain" | "label" | "name" | "kind" | "limits" | "shadow" | "lookup"
>;

/** The rules that decide, and the limits that came with descriptors. */
function shownRules({ rules, domains }: RuleSet, history: History): readonly ShownRule[] {
  const overrides = [...domains.keys()]
    .map((domain) => ({ ...OVERRIDE_RULE, domain }))
    .filter((rule) => callsOfRule(rule, history) > 0);
  return [...rules.filter(isShown), ...overrides];
}

/** Rules that neither decide nor count only lead to other rules. */
function isShown({ kind }: Rule): boolean {
  return kind !== "open";
}

const OVERRIDE_RULE: Omit<ShownRule, "domain"> = {
  index: Infinity,
  label: OVERRIDE,
  name: undefined,
  kind: "limited",
  limits: [],
  shadow: false,
  lookup: undefined,
};

/** Rules in the order of the files; if there are too many, only those that decided most. */
function mostActive(found: readonly ShownRule[], history: History): readonly ShownRule[] {
  if (found.length <= MAX_RULES) return found;
  return found.map((rule) => ({ rule, calls: callsOfRule(rule, history) }))
    .sort((one, other) => other.calls - one.calls)
    .slice(0, MAX_RULES)
    .map(({ rule }) => rule)
    .sort((one, other) => one.index - other.index);
}

function callsOfRule(rule: ShownRule, history: History): number {
  const { admitted, refused, shadowRefused, unavailable } = history.verdicts(figuresName(rule));
  return admitted + refused + shadowRefused + unavailable;
}

function liveRule(rule: ShownRule, shadow: boolean, history: History): LiveRule {
  const { domain, label, name = label, kind, limits, lookup } = rule;
  const key = figuresName(rule);
  return {
    domain,
    rule: name,
    label,
    kind,
    shadow: shadow || rule.shadow,
    ownLimits: lookup !== undefined,
    limits: limits.flatMap(({ id, policies }) => {
      const algorithm = id.slice(0, id.indexOf("/"));
      return policies.map(({ limit, period, burst }) => ({ algorithm, limit, period, burst }));
    }),
    ...history.verdicts(key),
    history: history.minutes(key),
  };
}
