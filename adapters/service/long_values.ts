/*
 * Values that are too long to be kept. Clients choose them (a path, a header). If such a value were
 * refused as malformed, a proxy that admits on errors would let the call pass all limits. So a long
 * value is matched unchanged, and counted under a keyed hash of it.
 */

import { createHmac } from "node:crypto";

import type { Descriptor, DescriptorEntry, RuleEngine, RuleRequest } from "../rules/rules.ts";

/** How much of a long value its counter shows. */
const SHOWN = 64;

/**
 * The engine for requests with values of any length.
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
  const countedEntry = (entry: DescriptorEntry): DescriptorEntry => {
    const [key, value] = entry;
    if (value.length <= longest) return entry;
    const hash = createHmac("sha256", secret).update(value).digest("base64url");
    return [key, value, `${value.slice(0, SHOWN)}~${hash}`];
  };
  const counted = <Request extends RuleRequest>(request: Request): Request => {
    if (!request.descriptors.some(({ entries }) => entries.some(isLong))) return request;
    const descriptors = request.descriptors.map((descriptor): Descriptor => {
      return { ...descriptor, entries: descriptor.entries.map(countedEntry) };
    });
    return { ...request, descriptors };
  };
  const isLong = ([, value]: DescriptorEntry) => value.length > longest;
  return {
    ...engine,
    get rules() {
      return engine.rules;
    },
    consume: (request) => engine.consume(counted(request)),
    peek: (request) => engine.peek(counted(request)),
    refund: (request) => engine.refund(counted(request)),
    reset: (request) => engine.reset(counted(request)),
    block: (request, duration) => engine.block(counted(request), duration),
    unblock: (request) => engine.unblock(counted(request)),
    hold: (request, id) => engine.hold(counted(request), id),
    renew: (permit) => engine.renew(counted(permit)),
    reserve: (request, options) => engine.reserve(counted(request), options),
    settle: (receipt, actual) => engine.settle(counted(receipt), actual),
    release: (held) => engine.release(counted(held)),
  };
}
