/*
 * Keeping an engine at what its source says.
 *
 * Reloads go one after the other; a change that comes during one starts another. In a load everything
 * is read and understood before anything is changed. Whatever goes wrong (the source is gone, cut off,
 * malformed, too large) leaves the old rules in place, and is reported.
 */

import { checkFunction, checkOptions } from "../../../core/options/checks.ts";
import { firstPrinted, guarded } from "../../../core/guarded.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import { readDocuments, type ReadRulesOptions, type RuleSet } from "../files/read_rules.ts";
import type { RuleDocument } from "../files/rule_file.ts";
import { problemText, type RuleProblem } from "../files/rule_problem.ts";
import { checkSource, type RuleSource } from "./rule_source.ts";

/** The longest wait for a load under way at the end, in milliseconds. */
const LAST_LOAD = 1_000;

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
  /** Reads documents; by default `readDocuments`, on this thread. */
  readonly read?: typeof readDocuments | undefined;
  /** Receives what becomes of loads, of those that fail as well. */
  readonly onEvent?: ((event: RulesEvent) => void) | undefined;
  /** Called when limits of keys of their own have changed. */
  readonly onLimitsChanged?: (() => void) | undefined;
}

/** A source that is followed. */
export interface FollowedRules {
  /** Why the last load failed; empty if it did not. */
  readonly refusal: string;
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
  const print = firstPrinted();
  checkFollowing(source, options);
  const state: Following = {
    source,
    options,
    report: guarded(options.onEvent ?? noOne, print),
    held: [],
    running: undefined,
    again: false,
    closed: false,
    refusal: "",
  };
  const onLimitsChanged = guarded(options.onLimitsChanged ?? noOne, print);
  if (!await reload(state)) {
    await source.close?.();
    throw new Error(`Cannot load rules from ${source.name}: ${state.refusal}`);
  }
  const stop = source.watch?.(() => void reload(state), onLimitsChanged);
  // What changed between the first load and the watcher's start.
  if (stop !== undefined) void reload(state);
  return {
    get refusal(): string {
      return state.refusal;
    },
    reload: () => reload(state),
    async close(): Promise<void> {
      state.closed = true;
      stop?.();
      // A source that hangs is not waited for: what it loads later is dropped.
      await withTimeout<unknown>(state.running ?? Promise.resolve(), LAST_LOAD, noOne);
      await source.close?.();
    },
  };
}

/** A source that is followed, and how far that has come. */
interface Following {
  readonly source: RuleSource;
  readonly options: FollowRulesOptions;
  readonly report: (event: RulesEvent) => void;
  /** The documents whose rules hold. */
  held: readonly RuleDocument[];
  /** The load under way. */
  running: Promise<boolean> | undefined;
  /** Whether another load is to follow it. */
  again: boolean;
  closed: boolean;
  /** Why the last load failed; empty if it did not. */
  refusal: string;
}

function checkFollowing(source: RuleSource, options: FollowRulesOptions): void {
  checkOptions<FollowRulesOptions>("follow rules", options, {
    format: true,
    mergeDomains: true,
    apply: true,
    read: true,
    onEvent: true,
    onLimitsChanged: true,
  });
  checkSource("follow rules", "source", source);
  checkFunction("follow rules", "apply", options.apply);
}

function reload(state: Following): Promise<boolean> {
  if (state.running === undefined) state.running = loadAll(state);
  else state.again = true;
  return state.running;
}

/** Loads until nothing has changed meanwhile; whether the source's rules hold. */
async function loadAll(state: Following): Promise<boolean> {
  let holds: boolean;
  do {
    state.again = false;
    holds = await load(state).then(() => true, (error) => refuse(state, error));
  } while (state.again && !state.closed);
  state.running = undefined;
  return holds;
}

/** Loads the source once, and puts its rules in place; throws what keeps them from being used. */
async function load(state: Following): Promise<void> {
  const { source, options: { read = readDocuments, ...options }, held } = state;
  const documents = await source.load();
  if (held.length > 0 && sameDocuments(held, documents)) return void (state.refusal = "");
  const cut = documents.find((document) => isCutOff(held, document));
  if (cut !== undefined) {
    throw new Error(
      `${cut.name} must not end where its earlier version went on: it may have been cut off ` +
        "(if it is meant, end it with the line ...)",
    );
  }
  const { rules, problems } = await read(documents, options);
  if (rules === undefined) {
    const errors = problems.filter(({ severity }) => severity === "error");
    const reason = errors.slice(0, 10).map(problemText).join("; ");
    throw Object.assign(new Error(reason), { problems });
  }
  if (state.closed) throw new Error("the source is not followed any more");
  await options.apply(rules, documents);
  state.held = documents;
  state.refusal = "";
  const counted = { domains: [...rules.domains.keys()], rules: rules.rules.length, problems };
  state.report({ event: "rules-loaded", source: source.name, ...counted });
}

/** Reported once: a source that stays broken is loaded again and again. */
function refuse(state: Following, error: unknown): false {
  const reason = error instanceof Error ? error.message : String(error);
  const { problems = [] } = Object(error) as { readonly problems?: readonly RuleProblem[] };
  if (reason !== state.refusal && !state.closed) {
    state.report({ event: "rules-refused", source: state.source.name, reason, problems });
  }
  state.refusal = reason;
  return false;
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

function noOne(): void {}
