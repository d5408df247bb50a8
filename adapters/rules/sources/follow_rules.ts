/*
 * Keeping an engine at what its source says.
 *
 * Reloads go one after the other; a change that comes during one starts another. A load that fails
 * leaves the old rules in place, and is reported.
 */

import { checkFunction, checkOptions } from "../../../core/options/checks.ts";
import { firstPrinted, guarded } from "../../../core/guarded.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import {
  readDocuments,
  type ReadRules,
  type ReadRulesOptions,
  type RuleSet,
} from "../files/read_rules.ts";
import type { RuleDocument } from "../files/rule_file.ts";
import type { RuleProblem } from "../files/rule_problem.ts";
import { type LoadedRules, loadRules, type RefusedRules, refusedRules } from "./load_rules.ts";
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
  const state = checkedFollowing(source, options, print);
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
  readonly read: (documents: readonly RuleDocument[]) => Promise<ReadRules>;
  readonly apply: FollowRulesOptions["apply"];
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

/** Checks what `followRules` was given; nothing is loaded yet. */
function checkedFollowing(
  source: RuleSource,
  options: FollowRulesOptions,
  print: (error: unknown) => void,
): Following {
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
  const { read = readDocuments } = options;
  return {
    source,
    read: (documents) => read(documents, options),
    apply: options.apply,
    report: guarded(options.onEvent ?? noOne, print),
    held: [],
    running: undefined,
    again: false,
    closed: false,
    refusal: "",
  };
}

function reload(state: Following): Promise<boolean> {
  if (state.running === undefined) state.running = load(state);
  else state.again = true;
  return state.running;
}

/** Loads until nothing has changed meanwhile; whether the source's rules hold. */
async function load(state: Following): Promise<boolean> {
  let holds: boolean;
  do {
    state.again = false;
    const loaded = await loadRules(state.source, state.held, state.read);
    holds = await take(state, loaded).catch((error) => refuse(state, refusedRules(error)));
  } while (state.again && !state.closed);
  state.running = undefined;
  return holds;
}

async function take(state: Following, loaded: LoadedRules): Promise<boolean> {
  if (loaded.outcome === "refused") return refuse(state, loaded);
  if (loaded.outcome === "loaded") {
    if (state.closed) return false;
    const { rules, documents, problems } = loaded;
    await state.apply(rules, documents);
    state.held = documents;
    const counted = { domains: [...rules.domains.keys()], rules: rules.rules.length, problems };
    state.report({ event: "rules-loaded", source: state.source.name, ...counted });
  }
  state.refusal = "";
  return true;
}

/** Reported once: a source that stays broken is loaded again and again. */
function refuse(state: Following, { reason, problems }: RefusedRules): false {
  if (reason !== state.refusal && !state.closed) {
    state.report({ event: "rules-refused", source: state.source.name, reason, problems });
  }
  state.refusal = reason;
  return false;
}

function noOne(): void {}
