/*
 * Values that are too long to be kept. Clients choose them (a path, a header). If such a value were
 * refused as malformed, a proxy that admits on errors would let the call pass all limits. So a long
 * value is matched unchanged, and counted under a keyed hash of it.
 */

import { createHmac } from "node:crypto";

import type { Descriptor, DescriptorEntry, RuleRequest } from "../rules/rules.ts";

/** How much of a long value its counter shows. */
const SHOWN = 64;

/**
 * Makes the function that prepares requests with values of any length.
 *
 * @param longest The most characters of a value that is kept unchanged.
 * @param secret The key of the hash. Without the key, a client cannot find a short value that
 * counts as a long value. Services that share a store must share the key.
 */
export function countingLongValues(
  longest: number,
  secret: string,
): <Request extends RuleRequest>(request: Request) => Request {
  const isLong = ([, value]: DescriptorEntry) => value.length > longest;
  const countedEntry = (entry: DescriptorEntry): DescriptorEntry => {
    if (!isLong(entry)) return entry;
    const [key, value] = entry;
    const hash = createHmac("sha256", secret).update(value).digest("base64url");
    return [key, value, `${value.slice(0, SHOWN)}~${hash}`];
  };
  return (request) => {
    if (!request.descriptors.some(({ entries }) => entries.some(isLong))) return request;
    const descriptors = request.descriptors.map((descriptor): Descriptor => {
      return { ...descriptor, entries: descriptor.entries.map(countedEntry) };
    });
    return { ...request, descriptors };
  };
}
