/*
 * A source of rules: files, Redis, objects in code, or a source that the caller wrote.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import type { KeyLookup } from "../engine/key_limits.ts";
import type { RuleDocument } from "../files/rule_file.ts";

/** Where rules come from. No decision waits for it, because the engine caches its rules. */
export interface RuleSource {
  /** The name of the source in messages. */
  readonly name: string;
  /** Reads all documents; rejects if one of them cannot be read in full. */
  load(): Promise<readonly RuleDocument[]>;
  /**
   * Calls `changed` when the documents may have changed, and `limitsChanged` when the individual
   * limits of keys may have changed. A call without a change does no harm. Returns a function that
   * stops the watching.
   */
  watch?(changed: () => void, limitsChanged: () => void): () => void;
  /** Looks up the individual limits of a key, if the source has any. */
  readonly lookup?: KeyLookup | undefined;
  /** Releases the resources of the source. */
  close?(): Promise<void>;
}

/**
 * Requires a source of rules, so that a forgotten one is reported at once.
 *
 * @param action The action that needs it, such as `"serve"`.
 * @param name The caller's name for the source, such as `"rules"`.
 * @throws {TypeError} If it is not a source.
 */
export function checkSource(action: string, name: string, source: unknown): void {
  if (typeof (source as Partial<RuleSource> | undefined | null)?.load === "function") return;
  const rule = `${name} must be a source, such as fileSource("rules.yaml")`;
  throw new TypeError(errorMessage(action, rule, source));
}
