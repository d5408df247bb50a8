/*
 * Rules as files and callers write them: plain data, which `compileDomain` checks and compiles.
 */

import type { ReplaceMode } from "../store.ts";
import type { LimitOptions } from "./limit_options.ts";

/** A rule as it is written: what it matches, and what holds there. */
export interface RuleOptions {
  /** The key of the descriptor's entry: a non-empty string. */
  readonly key: string;
  /** The value of the entry; `*` in it stands for any text. Without one every value matches. */
  readonly value?: string | undefined;
  /** The rule's name in answers and metrics; `replaces` refers to it. */
  readonly name?: string | undefined;
  /** The limits; all of them must admit. */
  readonly limits?: readonly LimitOptions[] | undefined;
  /** Admits everything, and counts nothing. */
  readonly unlimited?: boolean | undefined;
  /** Refuses everything. */
  readonly blocked?: boolean | undefined;
  /** Decides and reports, and never refuses. */
  readonly shadow?: boolean | undefined;
  /** Refuses only when every such rule of the request does: Envoy's `quota_mode`. */
  readonly quota?: boolean | undefined;
  /** Whether metrics count each counter of the rule by itself: Envoy's `detailed_metric`. */
  readonly detailed?: boolean | undefined;
  /** Everything that the pattern in `value` matches shares one counter. */
  readonly share?: boolean | undefined;
  /**
   * The names of rules that do not apply where this rule applies. This is Envoy's `replaces`, which
   * differs from a limiter's `replaces`.
   */
  readonly replaces?: readonly string[] | undefined;
  /**
   * Each key may have limits of its own in the source. Until they are known, the rule's own limits
   * decide (`"default"`), or the call waits (`"wait"`).
   */
  readonly lookup?: "default" | "wait" | undefined;
  /** Rules for the entry that follows. */
  readonly rules?: readonly RuleOptions[] | undefined;
}

/** Whether the rules of a request are charged all or none, or each by itself. */
export type ChargeMode = "together" | "each";

/** The rules of one domain as they are written. */
export interface DomainOptions {
  /** The name that requests give: a non-empty string. */
  readonly domain: string;
  /** `"together"` (default): a request is charged to all of its rules or to none. */
  readonly charge?: ChargeMode | undefined;
  /** How a changed limit treats the earlier use of a key; default `"keep"`. */
  readonly changes?: ReplaceMode | "reset" | undefined;
  /** The rules for the first entry. */
  readonly rules: readonly RuleOptions[];
}
