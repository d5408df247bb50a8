import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLong, upTo } from "../../support/seed.ts";
import { runWeak, type Schedule, type Weakening } from "./support/weak_memory.ts";
import {
  everyStop,
  randomSchedule,
  scenarios,
  stoppedSchedule,
  weakenings,
  withFewBlocks,
} from "./support/weak_scenarios.ts";

/** Random schedules of each scenario and order; and accesses at which the first thread is stopped. */
const SCHEDULES = isLong() ? 3_000 : 10;
const STOPS = isLong() ? 300 : 6;
/** Schedules in which a seeded fault must be found. */
const MAX_SEARCHED = 400;

/** Runs a scenario once; whether all threads came to an end. Throws if what must hold does not. */
function explore(
  name: string,
  schedule: Schedule,
  isOrdered: boolean,
  weakening?: Weakening,
): boolean {
  const { handle, scripts, narrow, check } = scenarios[name]!();
  const isDone = runWeak(handle, scripts, schedule, { isOrdered, narrow, weakening });
  if (isDone) check();
  return isDone;
}

for (const isOrdered of [false, true]) {
  const processor = isOrdered ? "a processor that keeps the order" : "any processor";
  describe(`on ${processor}`, () => {
    for (const name of Object.keys(scenarios)) {
      test(`${name}: holds in all schedules`, () => {
        let unfinished = 0;
        const random = upTo(SCHEDULES).map((place) => randomSchedule(place + 1));
        const stopped = upTo(STOPS).map((stop) =>
          stoppedSchedule(isLong() ? stop : 17 * stop + 5, stop)
        );
        for (const schedule of [...random, ...stopped]) {
          if (!explore(name, schedule, isOrdered)) unfinished++;
        }
        // A runtime's third of the schedules may hold more of them than its part.
        const most = withFewBlocks.includes(name)
          ? 2 + Math.ceil((random.length + stopped.length) / 4)
          : 0;
        assert.ok(unfinished <= most, `${unfinished} came to no end`);
      });
    }

    for (const [name, [from, to]] of Object.entries(everyStop)) {
      test(`${name}: holds wherever a thread stands still`, () => {
        const stops = upTo(to - from);
        const done = stops.filter((stop) =>
          explore(name, stoppedSchedule(from + stop, 1), isOrdered)
        );
        assert.ok(
          done.length >= stops.length / 4,
          `${done.length} of ${stops.length} came to an end`,
        );
      });
    }
  });
}

describe("it is found if", () => {
  for (const weakening of weakenings) {
    test(weakening.name, () => {
      for (const place of upTo(MAX_SEARCHED)) {
        // The first schedule that showed it, and then others, because the code has changed.
        const seed = (place + (weakening.seed ?? 1)) % MAX_SEARCHED;
        for (const schedule of [randomSchedule(seed), stoppedSchedule(seed, seed)]) {
          try {
            explore(weakening.scenario, schedule, weakening.isOrdered ?? false, weakening);
          } catch {
            return;
          }
        }
      }
      assert.fail(`${MAX_SEARCHED} schedules of "${weakening.scenario}" show nothing`);
    });
  }
});
