/*
 * The version of the rules in force, so that people see whether a change has arrived everywhere.
 */

import { createHash } from "node:crypto";

import type { RuleDocument } from "../rules/rules.ts";

/** The version of the rules that are in force. */
export interface RulesVersion {
  /** The first 12 digits of the SHA-256 of the file, or of all files by their names. */
  readonly hash: string;
  /** Since when, in milliseconds since the Unix epoch. */
  readonly since: number;
}

/** The version before any rules are loaded. */
export const NO_VERSION: RulesVersion = { hash: "", since: 0 };

/** The version of documents that come into force now. */
export function rulesVersion(documents: readonly RuleDocument[]): RulesVersion {
  const hash = createHash("sha256");
  for (const document of documents) {
    hash.update("text" in document ? document.text : JSON.stringify(document.data) ?? "");
  }
  return { hash: hash.digest("hex").slice(0, 12), since: Date.now() };
}
