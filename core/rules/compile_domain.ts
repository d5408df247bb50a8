/*
 * Compiles the rules of a domain into a tree by the keys and values of descriptors, so that a request
 * finds its rule by lookup instead of a search.
 */

import type { ReplaceMode } from "../store.ts";
import { compileRule, type Rule, type RuleFault } from "./compile_rule.ts";
import { entryText, escaped } from "./entry_text.ts";
import type { ChargeMode, DomainOptions, RuleOptions } from "./rule_options.ts";
import { keptTexts } from "./kept_texts.ts";
import { algorithmOf } from "./limit_options.ts";
import { type Wildcard, wildcardOf } from "./wildcard.ts";

/** A node of the tree: the place to which an entry leads. */
export interface RuleNode {
  /** The rule that holds if the descriptor ends here. */
  readonly rule: Rule;
  /**
   * The entry's part of the counter's key, if all values of the entry share one counter; otherwise
   * `undefined`.
   */
  readonly shared: string | undefined;
  /** The entry's part of the counter's key for a value, such as `user=42`. */
  readonly textOf: (value: string) => string;
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
  /** The name that requests give. */
  readonly name: string;
  /** Whether the rules of a request are charged all or nothing. */
  readonly charge: ChargeMode;
  /** The treatment of a key's use when its limit changes. */
  readonly changes: ReplaceMode | "reset";
  /** The rules for the first entry. */
  readonly level: RuleLevel;
  /** All rules, in the order of the file. */
  readonly rules: readonly Rule[];
}

/** The domain, if there is nothing wrong with it. */
export interface CompiledDomain {
  readonly domain: Domain | undefined;
  readonly faults: readonly RuleFault[];
}

/** The result so far. */
interface Compilation {
  readonly domain: string;
  readonly makeLimit: typeof algorithmOf;
  readonly firstIndex: number;
  readonly rules: Rule[];
  readonly faults: RuleFault[];
}

/** Keeps parts of counters' keys for all domains, up to a few megabytes. */
const keep = keptTexts(2 ** 15);

/** The rules of a key, some of which may still be missing. */
interface KeyRulesDraft extends KeyRules {
  readonly exact: Map<string, RuleNode>;
  readonly wildcards: KeyRules["wildcards"][number][];
  bare: RuleNode | undefined;
}

/**
 * Compiles the rules of a domain. It reports everything that is wrong with them, not only the first.
 *
 * @param options The rules, whose types must be right already.
 * @param firstIndex The index of the first rule.
 * @param makeLimit Makes a limit. A caller that has made the same limit before may return it again.
 */
export function compileDomain(
  options: DomainOptions,
  firstIndex = 0,
  makeLimit: typeof algorithmOf = algorithmOf,
): CompiledDomain {
  const { domain, charge = "together", changes = "keep" } = options;
  const rules: Rule[] = [];
  const faults: RuleFault[] = [];
  if (domain === "") faults.push({ path: ["domain"], message: "domain must not be empty" });
  const compilation = { domain, makeLimit, firstIndex, rules, faults };
  const level = levelOf(compilation, options.rules, ["rules"], "");
  return {
    domain: faults.length > 0 ? undefined : { name: domain, charge, changes, level, rules },
    faults,
  };
}

/** Compiles the rules of one level, each followed by those for the entry after it. */
function levelOf(
  compilation: Compilation,
  written: readonly RuleOptions[],
  path: RuleFault["path"],
  above: string,
): RuleLevel {
  const { domain, makeLimit, firstIndex, rules, faults } = compilation;
  const level = new Map<string, KeyRulesDraft>();
  const labels = new Set<string>();
  written.forEach((options, index) => {
    const { key, value, rules: inner = [] } = options;
    const here = [...path, index];
    const own = entryText(key, value);
    const label = `${above}${own}`;
    if (labels.has(label)) {
      const message = `two rules at one level match the same descriptors: ${label}`;
      faults.push({ path: here, message });
    }
    labels.add(label);
    const pattern = value === undefined ? undefined : wildcardOf(value);
    const isShared = options.share === true;
    const names = { index: firstIndex + rules.length, domain, label };
    const rule = compileRule(options, names, here, makeLimit, faults);
    rules.push(rule);
    const start = `${escaped(key)}=`;
    const node: RuleNode = {
      rule,
      shared: isShared ? own : undefined,
      textOf: keep((value) => start + escaped(value)),
      children: inner.length === 0
        ? undefined
        : levelOf(compilation, inner, [...here, "rules"], `${label},`),
    };
    if (isShared && pattern === undefined) {
      faults.push({ path: [...here, "share"], message: "share needs a value with a *" });
    }
    const ofKey: KeyRulesDraft = level.get(key) ??
      { exact: new Map(), wildcards: [], bare: undefined };
    level.set(key, ofKey);
    if (value === undefined) ofKey.bare = node;
    else if (pattern === undefined) ofKey.exact.set(value, node);
    else ofKey.wildcards.push({ pattern, node });
  });
  return level;
}
