/*
 * One load of a source: everything is read and understood before anything is changed. Whatever goes
 * wrong (the source is gone, cut off, malformed, too large) is an answer, and the old rules hold.
 */

import type { RuleDocument } from "../files/rule_file.ts";
import type { ReadRules, RuleSet } from "../files/read_rules.ts";
import { problemText, type RuleProblem } from "../files/rule_problem.ts";
import type { RuleSource } from "./rule_source.ts";

/** What a load comes to. */
export type LoadedRules =
  | {
    readonly outcome: "loaded";
    readonly documents: readonly RuleDocument[];
    readonly rules: RuleSet;
    readonly problems: readonly RuleProblem[];
  }
  | { readonly outcome: "unchanged" }
  | RefusedRules;

/** Rules that cannot be used, and why. */
export interface RefusedRules {
  readonly outcome: "refused";
  readonly reason: string;
  readonly problems: readonly RuleProblem[];
}

/**
 * Loads a source.
 *
 * @param held The documents that hold now; none before the first load.
 */
export async function loadRules(
  source: RuleSource,
  held: readonly RuleDocument[],
  read: (documents: readonly RuleDocument[]) => Promise<ReadRules>,
): Promise<LoadedRules> {
  try {
    const documents = await source.load();
    if (held.length > 0 && sameDocuments(held, documents)) return { outcome: "unchanged" };
    const cut = documents.find((document) => isCutOff(held, document));
    if (cut !== undefined) {
      return refusedRules(
        `${cut.name} must not end where its earlier version went on: it may have been cut off ` +
          "(if it is meant, end it with the line ...)",
      );
    }
    const { rules, problems } = await read(documents);
    if (rules !== undefined) return { outcome: "loaded", documents, rules, problems };
    const errors = problems.filter(({ severity }) => severity === "error");
    return refusedRules(errors.slice(0, 10).map(problemText).join("; "), problems);
  } catch (error) {
    return refusedRules(error);
  }
}

/** A refusal for what was thrown, or for a reason in words. */
export function refusedRules(
  reason: unknown,
  problems: readonly RuleProblem[] = [],
): RefusedRules {
  const text = reason instanceof Error ? reason.message : String(reason);
  return { outcome: "refused", reason: text, problems };
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
