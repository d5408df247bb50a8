import type { Algorithm } from "../algorithm.ts";
import { leavesOf } from "./leaves_of.ts";

/**
 * The sizes of an algorithm as text: its limits, bursts and queues, most of which its id leaves out.
 * Algorithms with one id share keys, and answer alike only if their sizes are equal, too.
 */
export function sizesOf(algorithm: Algorithm): string {
  return leavesOf(algorithm).map(({ internals, policies }) =>
    `${policies.map(({ limit, burst }) => `${limit} ${burst}`)} ${internals?.queue ?? 0}`
  ).join();
}
