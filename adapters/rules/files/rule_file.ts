/*
 * Rules before they are read: what a file may hold, and how it comes to the reader.
 */

import type { DomainOptions } from "../../../core/rules/rules.ts";
import type { RouteOptions } from "./compile_routes.ts";

/** The rules of a domain as a file holds them. */
export interface RuleFile extends DomainOptions {
  /** The descriptors that HTTP requests ask for. */
  readonly routes?: readonly RouteOptions[] | undefined;
  /**
   * Bits of a client's IPv6 address that count in routes, 32 to 128; default is the service's
   * setting, 64.
   */
  readonly ipv6Prefix?: number | undefined;
}

/** A file of rules, read but not parsed, or rules as an object. */
export type RuleDocument =
  | {
    readonly name: string;
    readonly text: string;
    /**
     * The identity of the text's container, such as a file's inode. If it changes, the file was
     * replaced as a whole.
     */
    readonly holder?: string | undefined;
  }
  | { readonly name: string; readonly data: unknown };

/** The form of a document: tidegate's own or Envoy's; `"auto"` looks for `descriptors`. */
export type RuleFormat = "auto" | "tidegate" | "envoy";

/** The longest text that is read, in characters. */
export const LONGEST_TEXT: number = 4 * 2 ** 20;
