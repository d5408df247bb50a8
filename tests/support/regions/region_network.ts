/*
 * Processes in several regions that lease from one home region, behind networks that lose, double and
 * delay messages and are cut for a while. Their clocks differ by minutes and jump; regions are lost
 * and come back without memory.
 */

import { virtualClock } from "../../../adapters/testing/testing.ts";
import { type Algorithm, limiter, memoryStore } from "../../../mod.ts";
import { lease } from "../../../stores/layered/layered.ts";
import { interceptedStore } from "../intercepted_store.ts";
import { networkTo } from "../network.ts";
import { numbersFrom } from "../numbers_from.ts";
import type { RegionCall } from "./region_law.ts";

/** Regions, and their leases. */
export interface RegionNetworkOptions {
  readonly algorithm: Algorithm;
  readonly regions: number;
  readonly units: number;
  readonly ttl: number;
  /** Milliseconds of it all. */
  readonly lasts: number;
  readonly seed: number;
}

/** The events of a run. */
export interface RegionEvents {
  /** Calls that were admitted in regions. */
  readonly used: readonly RegionCall[];
  /** Units that the home region has charged, and when. */
  readonly charged: readonly RegionCall[];
}

const ORIGIN = 1_790_000_000_000;

/** Lets the regions take for a while. */
export async function regionNetwork(options: RegionNetworkOptions): Promise<RegionEvents> {
  const { algorithm, regions, units, ttl, lasts } = options;
  const random = numbersFrom(options.seed);
  const clock = virtualClock(ORIGIN);
  const used: RegionCall[] = [];
  const charged: RegionCall[] = [];
  const home = interceptedStore(memoryStore(), (calls, proceed) => {
    const answers = proceed();
    for (const [index, { bound: { verb }, cost }] of calls.entries()) {
      const { allowed } = verb.decisionOf(answers[index]);
      if (allowed && cost > 0) charged.push({ begin: clock(), end: clock(), units: cost });
    }
    return answers;
  });

  function openRegion() {
    let shift = Math.floor(random() * 600_000) - 300_000;
    const api = limiter(algorithm, {
      store: lease(networkTo(home, clock, random, 8 * ttl), { units, ttl }),
      prefix: "api",
      clock: () => clock() + shift,
    });
    const region = {
      isLost: false,
      async take(cost: number): Promise<void> {
        const begin = clock();
        const isAllowed = await api.consume("key", cost).then(
          ({ allowed }) => allowed,
          () => false,
        );
        if (isAllowed && !region.isLost) used.push({ begin, end: clock(), units: cost });
      },
      // Only forward: a clock that is set back lengthens the ttl of a block by as much.
      jump: () => void (shift += Math.floor(random() * 2 * ttl)),
    };
    return region;
  }

  const open = Array.from({ length: regions }, openRegion);
  while (clock() < ORIGIN + lasts) {
    await clock.pass(1);
    for (const [index, region] of open.entries()) {
      if (random() < 0.4) void region.take(1 + Math.floor(random() * (random() < 0.2 ? units : 2)));
      if (random() < 1 / 2_000) region.jump();
      if (random() >= 1 / 1_000) continue;
      region.isLost = true;
      open[index] = openRegion();
    }
  }
  return { used, charged };
}
