/*
 * Whether rules know what requests ask: a descriptor that no rule matches is admitted, so a mistyped
 * key means that there is no limit at all.
 */

import { readFile } from "node:fs/promises";

import { matchDescriptor } from "../../core/rules/rules.ts";
import type { DescriptorEntry, RuleOptions, RuleSet } from "../rules/rules.ts";
import { hintAt } from "./command_options.ts";

/** A request as programs send it to the engine or to the service. */
interface SentRequest {
  readonly domain?: unknown;
  readonly entries?: unknown;
  readonly descriptors?: unknown;
}

/**
 * Reads requests, a JSON object on each line, and finds those that no rule limits.
 *
 * @returns A sentence for each of them, with its line.
 * @throws {Error} If the file cannot be read.
 */
export async function unmatchedRequests(path: string, rules: RuleSet): Promise<readonly string[]> {
  const text = await readFile(path, "utf8").catch((cause) => {
    throw new Error(`Cannot read --requests ${path}`, { cause });
  });
  return text.split("\n").flatMap((line, index) =>
    line.trim() === "" ? [] : faultsOf(line, rules).map((fault) => `${path}:${index + 1}: ${fault}`)
  );
}

function faultsOf(line: string, rules: RuleSet): readonly string[] {
  const [only] = rules.domains.keys();
  let request: SentRequest;
  try {
    request = JSON.parse(line) ?? {};
  } catch {
    return ["it must be a JSON object"];
  }
  const name = String(request.domain ?? only);
  const domain = rules.domains.get(name);
  if (domain === undefined) {
    return [`no rules have the domain ${name}${hintAt(name, [...rules.domains.keys()])}`];
  }
  const keys = rules.files.filter(({ domain }) => domain === name)
    .flatMap(({ rules }) => keysOf(rules));
  const descriptors = Array.isArray(request.descriptors) ? request.descriptors : [request];
  return descriptors.flatMap(({ entries }: SentRequest) => {
    const pairs = entriesOf(entries);
    if (pairs.length === 0) return ["a descriptor must have entries"];
    const unknown = pairs.filter(([key]) => !keys.includes(key));
    if (unknown.length > 0) {
      return unknown.map(([key]) => `no rule has the key ${key}${hintAt(key, keys)}`);
    }
    if (matchDescriptor(domain, pairs) !== undefined) return [];
    return [`no rule matches ${pairs.map(([key, value]) => `${key}=${value}`).join(" ")}`];
  });
}

/** Entries as pairs, or as an object. */
function entriesOf(entries: unknown): readonly DescriptorEntry[] {
  const pairs = Array.isArray(entries) ? entries : Object.entries(entries ?? {});
  return pairs.map(([key, value]: [unknown, unknown]) => [String(key), String(value)]);
}

function keysOf(rules: readonly RuleOptions[]): readonly string[] {
  return rules.flatMap(({ key, rules = [] }) => [key, ...keysOf(rules)]);
}
