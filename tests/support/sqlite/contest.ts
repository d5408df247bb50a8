import { type Algorithm, gcra } from "../../../mod.ts";

/** The calls that one key admits, of all that four processes make. */
export const TAKEN = 1_000;
/** The calls that each of many keys admits. */
export const PER_KEY = 20;
/** The calls that each of two keys admits, where a call takes from both. */
export const PAIRS = 300;

/** A limit so slow that no unit comes back within a test. */
export function slow(limit: number): Algorithm {
  return gcra({ limit, period: limit * 3_600_000, burst: limit }) as Algorithm;
}
