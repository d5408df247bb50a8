/*
 * A source of rules: files, Redis, objects in code, or one of the caller's own.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import type { KeyLookup } from "../engine/key_limits.ts";
import type { RuleDocument } from "../files/rule_file.ts";

/** Where rules come from. Decisions never wait for it: what it says is cached by the engine. */
export interface RuleSource {
  /** Its name in messages. */
  readonly name: string;
  /** Reads all documents, whole; rejects if they cannot be had. */
  load(): Promise<readonly RuleDocument[]>;
  /**
   * Calls `changed` after the documents may have changed, and `limitsChanged` after limits of keys
   * may have; once too often does no harm. Returns what ends it.
   */
  watch?(changed: () => void, limitsChanged: () => void): () => void;
  /** The limits of keys of their own, if the source has any. */
  readonly lookup?: KeyLookup | undefined;
  /** Lets go of what it holds. */
  close?(): Promise<void>;
}

/**
 * Requires a source of rules, so that a forgotten one is reported at once.
 *
 * @param action What cannot be done without it, such as `"serve"`.
 * @param name What the caller calls the source, such as `"rules"`.
 * @throws {TypeError} If it is not a source.
 */
export function checkSource(action: string, name: string, source: unknown): void {
  if (typeof (source as Partial<RuleSource> | undefined | null)?.load === "function") return;
  const rule = `${name} must be a source, such as fileSource("rules.yaml")`;
  throw new TypeError(errorMessage(action, rule, source));
}
