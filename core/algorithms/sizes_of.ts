import type { Algorithm } from "../algorithm.ts";

/**
 * The sizes of an algorithm as text: its limits, bursts and queues, most of which its id leaves out.
 * Algorithms with one id share keys, and answer alike only if their sizes are equal, too.
 */
export function sizesOf({ internals, policies }: Algorithm): string {
  const { wraps, parts, queue = 0 } = internals ?? {};
  if (wraps !== undefined) return sizesOf(wraps.inner);
  if (parts !== undefined) return parts.map(sizesOf).join();
  return `${policies.map(({ limit, burst }) => `${limit} ${burst}`)} ${queue}`;
}
