import type { Algorithm } from "../algorithm.ts";
import { leavesOf } from "./leaves_of.ts";

/** Whether the call that takes the last unit of an algorithm, or of a part of it, locks the key. */
export function mayLock(algorithm: Algorithm): boolean {
  return leavesOf(algorithm).some(({ internals }) => internals?.locks === true);
}
