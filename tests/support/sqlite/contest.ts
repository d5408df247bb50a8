import { type Algorithm, gcra } from "../../../mod.ts";

/** What one key admits, of the calls that four processes make. */
export const TAKEN = 1_000;
/** What each of many keys admits. */
export const PER_KEY = 20;
/** What each of two keys admits that are taken together. */
export const PAIRS = 300;

/** A limit so slow that no unit comes back within a test. */
export function slow(limit: number): Algorithm {
  return gcra({ limit, period: limit * 3_600_000 }) as Algorithm;
}
