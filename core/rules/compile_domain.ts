import type { Algorithm } from "../algorithm.ts";
import type { ReplaceMode } from "../store.ts";
import { algorithmOf } from "./limit_options.ts";
import type { ChargeMode, DomainOptions, RuleOptions } from "./rule_options.ts";
import { type Wildcard, wildcardOf } from "./wildcard.ts";

/** What a rule does with what it matches. */
export type RuleKind = "limited" | "unlimited" | "blocked" | "open";

/** A rule ready to decide. */
export interface Rule {
  /** Its place among the rules of all domains loaded with it. */
  readonly index: number;
  /** Its domain. */
  readonly domain: string;
  /** Its path in the file, the same for the same rule of every version: `path=/v1/*,user`. */
  readonly label: string;
  /** The name it was given. */
  readonly name: string | undefined;
  /** `"open"`: neither limits nor a verdict of its own; what ends here is admitted uncounted. */
  readonly kind: RuleKind;
  /** The limits; at least one if the rule is limited. */
  readonly limits: readonly Algorithm[];
  /** The smallest capacity among the limits; 0 without any. */
  readonly capacity: number;
  /** Decides and reports, and never refuses. */
  readonly shadow: boolean;
  /** Refuses only together with every other such rule. */
  readonly quota: boolean;
  /** The names of the rules that do not apply where this one does. */
  readonly replaces: readonly string[];
  /** What decides while the limits of a key are looked up; `undefined` if they never are. */
  readonly lookup: "default" | "wait" | undefined;
}

/** Where an entry leads. */
export interface RuleNode {
  /** The rule that holds if the descriptor ends here. */
  readonly rule: Rule;
  /** What the counter's key says of the entry when all values share it; otherwise `undefined`. */
  readonly shared: string | undefined;
  /** What the counter's key says of the entry up to its value: `user=`. */
  readonly start: string;
  /** The rules for the entry that follows. */
  readonly children: RuleLevel | undefined;
}

/** The rules of one level for one key. */
export interface KeyRules {
  /** By the entry's value. */
  readonly exact: ReadonlyMap<string, RuleNode>;
  /** By patterns for the value, in the order of the file. */
  readonly wildcards: readonly { readonly pattern: Wildcard; readonly node: RuleNode }[];
  /** For every other value. */
  readonly bare: RuleNode | undefined;
}

/** The rules of one level, by key. */
export type RuleLevel = ReadonlyMap<string, KeyRules>;

/** The rules of a domain, ready to decide. */
export interface Domain {
  /** What requests ask for. */
  readonly name: string;
  /** Whether the rules of a request are charged all or none. */
  readonly charge: ChargeMode;
  /** What a changed limit does with what a key had used. */
  readonly changes: ReplaceMode | "reset";
  /** The rules for the first entry. */
  readonly level: RuleLevel;
  /** All rules, in the order of the file. */
  readonly rules: readonly Rule[];
}

/** Something wrong with the rules: where, and what is required. */
export interface RuleFault {
  /** The place in the options: `["rules", 0, "limits", 1]`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The domain, if there is nothing wrong with it. */
export interface CompiledDomain {
  readonly domain: Domain | undefined;
  readonly faults: readonly RuleFault[];
}

type Path = RuleFault["path"];

/**
 * Compiles the rules of a domain. It says everything that is wrong with them, not only the first.
 *
 * @param options The rules; their types are taken to be right.
 * @param firstIndex The index of the first rule.
 */
export function compileDomain(options: DomainOptions, firstIndex = 0): CompiledDomain {
  const faults: RuleFault[] = [];
  const rules: Rule[] = [];
  const { domain, charge = "together", changes = "keep" } = options;

  function levelOf(written: readonly RuleOptions[], path: Path, above: string): RuleLevel {
    const level = new Map<string, KeyRulesDraft>();
    written.forEach((rule, place) => addTo(level, rule, [...path, place], above));
    return level;
  }

  function addTo(
    level: Map<string, KeyRulesDraft>,
    rule: RuleOptions,
    path: Path,
    above: string,
  ): void {
    const draft = level.get(rule.key) ?? draftOfKey();
    level.set(rule.key, draft);
    const own = entryText(rule.key, rule.value);
    const label = above === "" ? own : `${above},${own}`;
    if (isTaken(draft, rule.value)) {
      faults.push({ path, message: `no two rules of a level may match the same: ${label}` });
    }
    const node: RuleNode = {
      rule: ruleOf(rule, path, label),
      shared: rule.share === true && rule.value !== undefined
        ? entryText(rule.key, rule.value)
        : undefined,
      start: `${escaped(rule.key)}=`,
      children: rule.rules === undefined || rule.rules.length === 0
        ? undefined
        : levelOf(rule.rules, [...path, "rules"], label),
    };
    const pattern = rule.value === undefined ? undefined : wildcardOf(rule.value);
    if (rule.share === true && pattern === undefined) {
      faults.push({ path: [...path, "share"], message: "share needs a value with a *" });
    }
    if (rule.value === undefined) draft.bare = node;
    else if (pattern === undefined) draft.exact.set(rule.value, node);
    else draft.wildcards.push({ pattern, node });
  }

  function ruleOf(written: RuleOptions, path: Path, label: string): Rule {
    const { name, replaces = [], limits = [] } = written;
    checkVerdict(written, path);
    if (name !== undefined && replaces.includes(name)) {
      const place = [...path, "replaces", replaces.indexOf(name)];
      faults.push({ path: place, message: `a rule cannot replace itself: ${name}` });
    }
    const algorithms = limits.flatMap((limit, place): Algorithm[] => {
      try {
        return [algorithmOf(limit)];
      } catch (error) {
        faults.push({ path: [...path, "limits", place], message: messageOf(error) });
        return [];
      }
    });
    algorithms.forEach(({ id }, place) => {
      if (algorithms.findIndex((other) => other.id === id) === place) return;
      const message = "the limits of a rule must differ: this one is there already";
      faults.push({ path: [...path, "limits", place], message });
    });
    const rule: Rule = {
      index: firstIndex + rules.length,
      domain,
      label,
      name,
      kind: kindOf(written),
      limits: algorithms,
      capacity: algorithms.length === 0 ? 0 : Math.min(...algorithms.map((each) => each.capacity)),
      shadow: written.shadow === true,
      quota: written.quota === true,
      replaces,
      lookup: written.lookup,
    };
    rules.push(rule);
    return rule;
  }

  function checkVerdict({ limits, unlimited, blocked, lookup }: RuleOptions, path: Path): void {
    const given = [limits !== undefined, unlimited === true, blocked === true];
    if (given.filter(Boolean).length > 1) {
      faults.push({ path, message: "a rule has either limits, or unlimited, or blocked" });
    }
    if (limits !== undefined && limits.length === 0) {
      faults.push({ path: [...path, "limits"], message: "limits must hold at least one" });
    }
    if (lookup !== undefined && !given.includes(true)) {
      const message = "lookup needs limits, unlimited or blocked for the keys without their own";
      faults.push({ path: [...path, "lookup"], message });
    }
  }

  if (domain === "") faults.push({ path: ["domain"], message: "domain must not be empty" });
  const level = levelOf(options.rules, ["rules"], "");
  return {
    domain: faults.length > 0 ? undefined : { name: domain, charge, changes, level, rules },
    faults,
  };
}

interface KeyRulesDraft {
  readonly exact: Map<string, RuleNode>;
  readonly wildcards: { readonly pattern: Wildcard; readonly node: RuleNode }[];
  bare: RuleNode | undefined;
}

function draftOfKey(): KeyRulesDraft {
  return { exact: new Map(), wildcards: [], bare: undefined };
}

function isTaken(draft: KeyRulesDraft, value: string | undefined): boolean {
  if (value === undefined) return draft.bare !== undefined;
  return draft.exact.has(value) || draft.wildcards.some(({ pattern }) => pattern.text === value);
}

function kindOf({ limits, unlimited, blocked }: RuleOptions): RuleKind {
  if (unlimited === true) return "unlimited";
  if (blocked === true) return "blocked";
  return limits === undefined ? "open" : "limited";
}

/** An entry as counters' keys and labels show it: no two entries make the same text. */
export function entryText(key: string, value: string | undefined): string {
  return value === undefined ? escaped(key) : `${escaped(key)}=${escaped(value)}`;
}

const SPECIAL_REGEXP = /[%=,]/;

/** The text with the signs that part entries escaped. */
export function escaped(text: string): string {
  return SPECIAL_REGEXP.test(text)
    ? text.replaceAll("%", "%25").replaceAll("=", "%3D").replaceAll(",", "%2C")
    : text;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
