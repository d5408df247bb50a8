/*
 * The law of several regions: `lease` over a store in a home region. `npm run regions` holds it with
 * real processes.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { rateBound } from "../../../adapters/testing/testing.ts";
import {
  type Algorithm,
  fixedWindow,
  gcra,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../mod.ts";
import {
  type RegionCall,
  type RegionPromise,
  requireRegionLaw,
} from "../../support/regions/region_law.ts";
import { regionNetwork } from "../../support/regions/region_network.ts";
import { isLong, seed } from "../../support/seed.ts";

const RATE = { limit: 100, period: 200 };
type Most = RegionPromise["most"];

/** Algorithms, and the most that they admit in a span; `undefined` if only their charges are known. */
const POLICIES: readonly (readonly [Algorithm, Most | undefined])[] = [
  [gcra({ ...RATE, burst: 60 }), rateBound({ ...RATE, burst: 60 }).most],
  [tokenBucket({ ...RATE, burst: 80 }), rateBound({ ...RATE, burst: 80 }).most],
  [
    fixedWindow(RATE),
    (from, to) => 100 * (Math.floor(to / 200) - Math.floor(from / 200) + 1),
  ],
  [slidingLog(RATE), (from, to) => 100 * Math.ceil((to - from + 1) / 200)],
  [slidingWindow({ ...RATE, precision: 10 }), undefined],
  [slidingCounter(RATE), undefined],
];

/** Regions, units and ttl. */
const CASES = [[3, 5, 20], [2, 20, 50], [6, 4, 10]] as const;

for (const [algorithm, most] of POLICIES) {
  test(`${algorithm.id}: regions use no more than the formula says`, async () => {
    let beyond = 0;
    for (const [regions, units, ttl] of CASES) {
      const lasts = isLong() ? 20_000 : 1_500;
      const { used, charged } = await regionNetwork({
        ...{ algorithm, regions, units, ttl, lasts },
        seed: seed() + regions,
      });
      const promise = { ttl, blocks: regions * units };
      // A region that was lost takes its blocks with it, and comes back without any.
      beyond = Math.max(beyond, requireRegionLaw(used, { ...promise, most: sumOf(charged) }));
      if (most !== undefined) requireRegionLaw(used, { ...promise, most });
    }
    assert.ok(beyond > 0, "no unit was ever used later than it was charged");
  });
}

/** Units that were charged in a span. */
function sumOf(charged: readonly RegionCall[]): Most {
  const instants = charged.map(({ begin }) => begin);
  const sums = [0];
  for (const { units } of charged) sums.push(sums.at(-1)! + units);
  const until = (instant: number) => {
    let [low, high] = [0, instants.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (instants[middle]! <= instant) low = middle + 1;
      else high = middle;
    }
    return sums[low]!;
  };
  return (from, to) => until(to) - until(from - 1);
}
