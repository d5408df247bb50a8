/*
 * Keeping an engine at what its source says.
 *
 * A reload reads everything, understands everything, and only then changes the engine's one
 * reference. Whatever goes wrong before that (the source is gone, cut off, malformed, too large)
 * leaves the old rules in place and is told. Reloads go one after the other; a change that comes
 * during one starts another.
 */

import { checkFunction, checkOptions } from "../../../core/options/checks.ts";
import { firstPrinted, guarded } from "../../../core/guarded.ts";
import { withTimeout } from "../with_timeout.ts";
import { problemText, type RuleProblem } from "../files/rule_problem.ts";
import { yamlReader } from "../files/read_yaml.ts";
import {
  readRules,
  type ReadRulesOptions,
  type RuleDocument,
  type RuleSet,
} from "../files/read_rules.ts";
import { checkSource } from "./check_source.ts";
import type { RuleSource } from "./rule_source.ts";

/** Milliseconds for which a read that is under way is waited for at the end. */
const LAST_READ = 1_000;

/** What happened to the rules. */
export type RulesEvent =
  | {
    /** Other rules hold now; `problems` are warnings. */
    readonly event: "rules-loaded";
    readonly source: string;
    readonly domains: readonly string[];
    readonly rules: number;
    readonly problems: readonly RuleProblem[];
  }
  | {
    /** The source could not be used; the old rules hold. */
    readonly event: "rules-refused";
    readonly source: string;
    readonly reason: string;
    readonly problems: readonly RuleProblem[];
  };

/** The options of `followRules`. */
export interface FollowRulesOptions extends ReadRulesOptions {
  /**
   * Called with a whole configuration, and with what it was read from. One that throws, or rejects,
   * has not taken it: the load has failed.
   */
  readonly apply: (rules: RuleSet, documents: readonly RuleDocument[]) => void | Promise<void>;
  /** Told of loads that worked and of those that did not. */
  readonly onEvent?: ((event: RulesEvent) => void) | undefined;
  /** Called when limits of keys of their own have changed. */
  readonly onLimitsChanged?: (() => void) | undefined;
}

/** A source that is followed. */
export interface FollowedRules {
  /** Reads the source now; whether its rules hold. */
  reload(): Promise<boolean>;
  /** Follows it no more. */
  close(): Promise<void>;
}

/**
 * Loads the rules of a source, and follows its changes.
 *
 * @throws {Error} If the first load fails; the message says why, and the source is closed.
 *
 * @example
 * ```ts
 * import { followRules, objectSource, ruleEngine } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const source = objectSource({ domain: "shop", rules: [{ key: "user", unlimited: true }] });
 * const engine = ruleEngine();
 * const events: string[] = [];
 * const followed = await followRules(source, {
 *   apply: (rules) => engine.replace(rules),
 *   onEvent: ({ event }) => events.push(event),
 * });
 *
 * source.set({ domain: "shop", rules: [{ key: "" }] });
 * assert.equal(await followed.reload(), false); // the old rules hold
 * assert.deepEqual(events, ["rules-loaded", "rules-refused"]);
 * await followed.close();
 * ```
 */
export async function followRules(
  source: RuleSource,
  options: FollowRulesOptions,
): Promise<FollowedRules> {
  checkOptions("follow rules", options);
  checkSource("follow rules", "source", source);
  checkFunction("follow rules", "apply", options.apply);
  const { apply } = options;
  const print = firstPrinted();
  const onEvent = guarded(options.onEvent ?? (() => {}), print);
  const onLimitsChanged = guarded(options.onLimitsChanged ?? (() => {}), print);
  let held: readonly RuleDocument[] = [];
  let running: Promise<boolean> | undefined;
  let again = false;
  let closed = false;
  let refusal = "";

  async function load(): Promise<boolean> {
    let documents: readonly RuleDocument[];
    try {
      documents = await source.load();
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error), []);
    }
    if (held.length > 0 && sameDocuments(held, documents)) {
      refusal = "";
      return true;
    }
    const cut = documents.find((document) => isCutOff(held, document));
    if (cut !== undefined) {
      return refuse(
        `${cut.name} must not end where its earlier version went on: it may have been cut off ` +
          "(if it is meant, end it with the line ...)",
        [],
      );
    }
    const needsText = documents.some((document) => "text" in document);
    const yaml = needsText ? await yamlReader() : undefined;
    const { rules, problems } = readRules(documents, yaml, options);
    if (rules === undefined) {
      const errors = problems.filter(({ severity }) => severity === "error");
      return refuse(errors.slice(0, 10).map(problemText).join("; "), problems);
    }
    if (closed) return false;
    await apply(rules, documents);
    held = documents;
    refusal = "";
    const domains = [...rules.domains.keys()];
    const counted = { domains, rules: rules.rules.length, problems };
    onEvent({ event: "rules-loaded", source: source.name, ...counted });
    return true;
  }

  /** Told once: a source that stays broken is looked at again and again. */
  function refuse(reason: string, problems: readonly RuleProblem[]): false {
    if (reason !== refusal && !closed) {
      onEvent({ event: "rules-refused", source: source.name, reason, problems });
    }
    refusal = reason;
    return false;
  }

  async function run(): Promise<boolean> {
    let loaded: boolean;
    do {
      again = false;
      try {
        loaded = await load();
      } catch (error) {
        loaded = refuse(error instanceof Error ? error.message : String(error), []);
      }
    } while (again && !closed);
    running = undefined;
    return loaded;
  }

  function reload(): Promise<boolean> {
    if (running === undefined) running = run();
    else again = true;
    return running;
  }

  if (!await reload()) {
    await source.close?.();
    throw new Error(`Cannot load rules from ${source.name}: ${refusal}`);
  }
  const stop = source.watch?.(() => void reload(), onLimitsChanged);
  // What changed between the first load and the watcher's start.
  if (stop !== undefined) void reload();
  return {
    reload,
    async close(): Promise<void> {
      closed = true;
      stop?.();
      // A source that hangs is not waited for: what it may still say is not heard.
      await withTimeout<unknown>(running ?? Promise.resolve(), LAST_READ, "read the rules").catch(
        () => {},
      );
      await source.close?.();
    },
  };
}

function sameDocuments(one: readonly RuleDocument[], other: readonly RuleDocument[]): boolean {
  return one.length === other.length && one.every((document, place) => {
    const twin = other[place]!;
    if (document.name !== twin.name) return false;
    return "text" in document
      ? "text" in twin && document.text === twin.text
      : "data" in twin && document.data === twin.data;
  });
}

/**
 * Whether a document may have been cut off: it ended with YAML's end mark and does so no more, or it
 * is the beginning of what it was. Such a text may well be valid, with fewer rules or a shorter
 * number; who means it says so by the mark.
 */
function isCutOff(held: readonly RuleDocument[], document: RuleDocument): boolean {
  const before = held.find(({ name }) => name === document.name);
  if (before === undefined || !("text" in before) || !("text" in document)) return false;
  if (hasEndMark(document.text)) return false;
  const [old, now] = [before.text.trimEnd(), document.text.trimEnd()];
  return hasEndMark(before.text) || (old.length > now.length && old.startsWith(now));
}

function hasEndMark(text: string): boolean {
  return /(^|\n)\.\.\.\s*$/.test(text);
}
