import assert from "node:assert/strict";

/** A call that was admitted in a region: decided at some instant from its begin to its end. */
export interface RegionCall {
  readonly begin: number;
  readonly end: number;
  readonly units: number;
}

/** The promise that regions make together. */
export interface RegionPromise {
  /** The most units that the home region admits at instants from one to another, both included. */
  most(from: number, to: number): number;
  /** Milliseconds for which a block may be used. */
  readonly ttl: number;
  /** Units of all blocks together: one block for each process of each region. */
  readonly blocks: number;
}

/**
 * Requires the law of regions: in any span, calls that begin and end in it use at most what the policy
 * admits in it and the ttl before, and at most what it admits in it and one block for each process.
 *
 * @returns The most units beyond what the policy admits in the span itself.
 */
export function requireRegionLaw(
  calls: readonly RegionCall[],
  { most, ttl, blocks }: RegionPromise,
): number {
  const byEnd = [...calls].sort((a, b) => a.end - b.end);
  let beyond = 0;
  for (const from of new Set(calls.map(({ begin }) => begin))) {
    let used = 0;
    for (const { begin, end, units } of byEnd) {
      if (begin < from) continue;
      used += units;
      const exact = most(from, end);
      const bound = Math.min(most(from - ttl, end), exact + blocks);
      assert.ok(used <= bound, `${used} units used in ${end - from} ms, at most ${bound}`);
      beyond = Math.max(beyond, used - exact);
    }
  }
  return beyond;
}
