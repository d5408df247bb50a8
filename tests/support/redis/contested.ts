import type { Algorithm } from "../../../mod.ts";
import { names, policy } from "../policies.ts";
import { isLong } from "../seed.ts";

/** The units that each algorithm below admits at once. */
export const CONTESTED_LIMIT = isLong() ? 5_000 : 200;

/** Every algorithm, with that capacity, and so slow that no unit comes back within a test. */
export function contested(): Readonly<Record<string, Algorithm>> {
  const slow = names.filter((name) => name !== "gcraOfTwoWords");
  const period = CONTESTED_LIMIT * 3_600_000;
  return Object.fromEntries(slow.map((name) => [name, policy(name, CONTESTED_LIMIT, period)]));
}
