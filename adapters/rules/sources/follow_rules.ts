/*
 * Keeps an engine in step with its source.
 *
 * Reloads run one after the other; a change during one starts another. A load reads and checks
 * everything before it changes anything. Whatever goes wrong (the source is gone, cut off,
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

/** An event of the rules. */
export type RulesEvent =
  | {
    /**
     * New rules are in force, or the source has the old rules again after it was refused;
     * `problems` are warnings.
     */
    readonly event: "rules-loaded";
    readonly source: string;
    readonly domains: readonly string[];
    readonly rules: number;
    readonly problems: readonly RuleProblem[];
  }
  | {
    /** The source could not be used; the old rules stay in force. */
    readonly event: "rules-refused";
    readonly source: string;
    readonly reason: string;
    readonly problems: readonly RuleProblem[];
  };

/** The options of `followRules`. */
export interface FollowRulesOptions extends ReadRulesOptions {
  /**
   * Called with a whole configuration and the documents that it was read from. If `apply` throws or
   * rejects, the load has failed.
   */
  readonly apply: (rules: RuleSet, documents: readonly RuleDocument[]) => void | Promise<void>;
  /** Reads documents; by default `readDocuments`, on this thread. */
  readonly read?: typeof readDocuments | undefined;
  /** Receives the outcome of each load, including failed loads. */
  readonly onEvent?: ((event: RulesEvent) => void) | undefined;
  /** Called when individual limits of keys have changed. */
  readonly onLimitsChanged?: (() => void) | undefined;
}

/** A source that is followed. */
export interface FollowedRules {
  /** Why the last load failed; empty if it succeeded. */
  readonly refusal: string;
  /**
   * Reads the source now; answers whether its rules are in force.
   *
   * @param isWhole Whether the caller vouches that the documents are complete. Then a document may
   * be a prefix of its earlier version. Default no.
   */
  reload(isWhole?: boolean): Promise<boolean>;
  /** Stops following it. */
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
  checkFollowing(source, options);
  const { read = readDocuments, apply, onEvent = noOne, onLimitsChanged = noOne, ...how } = options;
  const print = firstPrinted();
  const report = guarded(onEvent, print);
  /** The documents whose rules hold. */
  let held: readonly RuleDocument[] = [];
  let loaded: RulesEvent | undefined;
  /** The load under way, and whether another one must follow it. */
  let running: Promise<boolean> | undefined;
  let again = false;
  /** Whether the load that comes next takes a document that may have been cut off. */
  let takesWhole = false;
  let closed = false;
  /** Why the last load failed; empty if it succeeded. */
  let refusal = "";

  function reload(isWhole = false): Promise<boolean> {
    takesWhole ||= isWhole;
    again = true;
    return running ??= loadAll();
  }

  /** Loads until nothing has changed meanwhile; answers whether the source's rules are in force. */
  async function loadAll(): Promise<boolean> {
    let holds: boolean;
    do {
      again = false;
      holds = await load().catch(refuse);
    } while (again && !closed);
    running = undefined;
    return holds;
  }

  /** Loads the source once, and puts its rules in place; answers whether they are in force. */
  async function load(): Promise<boolean> {
    const isWhole = takesWhole;
    takesWhole = false;
    const documents = await source.load();
    if (loaded !== undefined && sameDocuments(held, documents)) {
      // The last line of a log must not be an error that is over.
      if (refusal !== "") report(loaded);
      refusal = "";
      return true;
    }
    const cut = isWhole ? undefined : documents.find((document) => isCutOff(held, document));
    if (cut !== undefined) {
      throw new Error(
        `${cut.name} must not end where its earlier version went on: it may have been cut off ` +
          "(if it is meant, end it with the line ..., rename a new file over it, or send SIGHUP)",
      );
    }
    const { rules, problems } = await read(documents, how);
    if (rules === undefined) {
      const errors = problems.filter(({ severity }) => severity === "error");
      const reason = errors.slice(0, 10).map(problemText).join("; ");
      return refuse(new Error(reason), problems);
    }
    if (closed) throw new Error("the source is not followed any more");
    await apply(rules, documents);
    held = documents;
    refusal = "";
    const counted = { domains: [...rules.domains.keys()], rules: rules.rules.length, problems };
    loaded = { event: "rules-loaded", source: source.name, ...counted };
    report(loaded);
    return true;
  }

  /** Reported once: a source that stays broken is loaded again and again. */
  function refuse(error: unknown, problems: readonly RuleProblem[] = []): false {
    if (closed) return false;
    const reason = error instanceof Error ? error.message : String(error);
    if (reason !== refusal) {
      report({ event: "rules-refused", source: source.name, reason, problems });
    }
    refusal = reason;
    return false;
  }

  if (!await reload()) {
    await source.close?.();
    throw new Error(`Cannot load rules from ${source.name}: ${refusal}`);
  }
  const stop = source.watch?.(() => void reload(), guarded(onLimitsChanged, print));
  // There may have been a change between the first load and the watcher's start.
  if (stop !== undefined) void reload();
  return {
    get refusal(): string {
      return refusal;
    },
    reload,
    async close(): Promise<void> {
      closed = true;
      stop?.();
      // A source that hangs is not waited for: what it loads later is dropped.
      await withTimeout<unknown>(running ?? Promise.resolve(), LAST_LOAD, noOne);
      await source.close?.();
    },
  };
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

function sameDocuments(one: readonly RuleDocument[], other: readonly RuleDocument[]): boolean {
  return one.length === other.length && one.every((document, index) => {
    const twin = other[index]!;
    if (document.name !== twin.name) return false;
    return "text" in document
      ? "text" in twin && document.text === twin.text
      : "data" in twin && document.data === twin.data;
  });
}

/**
 * Whether a document may have been cut off: it no longer ends with YAML's end mark, or it is a
 * prefix of its earlier version. Such a text may well be valid, with fewer rules or a shorter
 * number. An author who intends such a change adds the end mark. A file that replaced another file
 * is complete.
 */
function isCutOff(held: readonly RuleDocument[], document: RuleDocument): boolean {
  const before = held.find(({ name }) => name === document.name);
  if (before === undefined || !("text" in before) || !("text" in document)) return false;
  if (hasEndMark(document.text) || before.holder !== document.holder) return false;
  const [old, now] = [before.text.trimEnd(), document.text.trimEnd()];
  return hasEndMark(before.text) || (old.length > now.length && old.startsWith(now));
}

function hasEndMark(text: string): boolean {
  return /(^|\n)\.\.\.\s*$/.test(text);
}

function noOne(): void {}
