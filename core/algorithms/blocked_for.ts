import type { Algorithm } from "../algorithm.ts";
import { LAST_INSTANT } from "../options/checks.ts";

/**
 * Milliseconds until the block of a key ends: 0 without a block, `Infinity` for a block without an end.
 * If several parts are blocked, the longest block counts.
 */
export function blockedFor({ internals }: Algorithm, state: unknown, now: number): number {
  const { blocks, wraps, parts } = internals ?? {};
  if (blocks !== undefined) {
    const until = blocks.until(state);
    return until >= LAST_INSTANT ? Infinity : Math.max(0, until - now);
  }
  if (wraps !== undefined) return blockedFor(wraps.inner, wraps.innerOf(state), now);
  if (parts === undefined) return 0;
  const states = state as readonly unknown[];
  return Math.max(...parts.map((part, index) => blockedFor(part, states[index], now)));
}
