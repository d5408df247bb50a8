import type { KeyLookup } from "../engine/key_limits.ts";
import type { RuleDocument } from "../files/rule_file.ts";

/** Where rules come from. Decisions never wait for it: what it says is cached by the engine. */
export interface RuleSource {
  /** What messages call it. */
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
