import { type Algorithm, gcra } from "../../../mod.ts";

/** A limit so slow that no unit comes back within a test. */
export function slow(limit: number): Algorithm {
  return gcra({ limit, period: limit * 3_600_000, burst: limit }) as Algorithm;
}
