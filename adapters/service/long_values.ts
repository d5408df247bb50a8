/*
 * Values that are too long to be kept. Clients choose them (a path, a header). If such a value were
 * refused as malformed, a proxy that admits on errors would let the call pass all limits. So a long
 * value is matched unchanged, and counted under a keyed hash of it.
 */

import { createHmac } from "node:crypto";

import type { Descriptor, DescriptorEntry, RuleEngine, RuleRequest } from "../rules/rules.ts";

/** How much of a long value its counter shows. */
const SHOWN = 64;

/** The calls of an engine that have a request, or a permit or receipt with the same members. */
const CALLS = [
  ...["consume", "peek", "refund", "reset", "block", "unblock"] as const,
  ...["hold", "renew", "reserve", "settle", "release"] as const,
];

/**
 * Makes an engine that takes values of any length.
 *
 * @param longest The most characters of a value that is kept unchanged.
 * @param secret The key of the hash. Without the key, a client cannot find a short value that
 * counts as a long value. Services that share a store must share the key.
 */
export function countingLongValues(
  engine: RuleEngine,
  longest: number,
  secret: string,
): RuleEngine {
  const isLong = ([, value]: DescriptorEntry) => value.length > longest;

  function countedEntry(entry: DescriptorEntry): DescriptorEntry {
    if (!isLong(entry)) return entry;
    const [key, value] = entry;
    const hash = createHmac("sha256", secret).update(value).digest("base64url");
    return [key, value, `${value.slice(0, SHOWN)}~${hash}`];
  }

  function counted(request: RuleRequest): RuleRequest {
    if (!request.descriptors.some(({ entries }) => entries.some(isLong))) return request;
    const descriptors = request.descriptors.map((descriptor): Descriptor => {
      return { ...descriptor, entries: descriptor.entries.map(countedEntry) };
    });
    return { ...request, descriptors };
  }

  const calls = CALLS.map((name) => {
    const call = engine[name] as (request: RuleRequest, option: unknown) => unknown;
    return [name, (request: RuleRequest, option: unknown) => call(counted(request), option)];
  });
  return {
    ...engine,
    ...Object.fromEntries(calls) as Pick<RuleEngine, typeof CALLS[number]>,
    get rules() {
      return engine.rules;
    },
  };
}
