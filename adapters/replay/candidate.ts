/*
 * Validates the limits that a replay tries, and gives each a unique name by which reports refer to
 * it.
 */

import { errorMessage } from "../../core/application_support.ts";
import type { Algorithm } from "../../mod.ts";

/** A limit to try. */
export interface Candidate {
  /** The candidate's name in reports; default the algorithm's name. */
  readonly name?: string | undefined;
  /** The algorithm that decides. */
  readonly algorithm: Algorithm;
  /** The same with another limit, to find the smallest one that refuses no request. */
  readonly make?: ((limit: number) => Algorithm) | undefined;
}

/** A candidate with a name. */
export type NamedCandidate = Candidate & { readonly name: string };

/** The most limits that are tried at once. */
const MAX_CANDIDATES = 64;

/** Requires candidates, and gives each a name of its own. */
export function readCandidates(
  candidates: readonly Candidate[],
): readonly NamedCandidate[] {
  const action = "replay a log";
  if (!Array.isArray(candidates) || candidates.length === 0) {
    throw new TypeError(errorMessage(action, "it needs at least one candidate", candidates));
  }
  if (candidates.length > MAX_CANDIDATES) {
    const rule = `there must be at most ${MAX_CANDIDATES} candidates`;
    throw new RangeError(errorMessage(action, rule, candidates.length));
  }
  const taken = new Set<string>();
  return candidates.map(({ name, algorithm, make }: Candidate) => {
    if (typeof algorithm?.step !== "function") {
      throw new TypeError(errorMessage(action, "a candidate must have an algorithm", algorithm));
    }
    const wanted = name ?? `${algorithm.id.split("/")[0]} ${algorithm.name}`;
    let own = wanted;
    for (let count = 2; taken.has(own); count++) own = `${wanted} (${count})`;
    taken.add(own);
    return { name: own, algorithm, make };
  });
}
