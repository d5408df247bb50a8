import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { runWeak, type Schedule, type Weakening } from "./support/weak_memory.ts";
import {
  randomSchedule,
  scenarios,
  stoppedSchedule,
  weakenings,
} from "./support/weak_scenarios.ts";

const isLong = process.env.TIDEGATE_LONG === "1";
/** Random schedules of each scenario and order; and accesses at which the first thread is stopped. */
const SCHEDULES = isLong ? 3_000 : 10;
const STOPS = isLong ? 300 : 6;
/** Schedules in which a seeded fault must be found. */
const MOST_SEARCHED = 400;

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
        for (let seed = 1; seed <= SCHEDULES; seed++) {
          if (!explore(name, randomSchedule(seed), isOrdered)) unfinished++;
        }
        for (let stop = 0; stop < STOPS; stop++) {
          const accesses = isLong ? stop : 17 * stop + 5;
          if (!explore(name, stoppedSchedule(accesses, stop), isOrdered)) unfinished++;
        }
        assert.ok(unfinished <= (SCHEDULES + STOPS) / 4, `${unfinished} came to no end`);
      });
    }
  });
}

describe("it is found if", () => {
  for (const weakening of weakenings) {
    test(weakening.name, () => {
      for (let seed = 1; seed <= MOST_SEARCHED; seed++) {
        for (const schedule of [randomSchedule(seed), stoppedSchedule(seed, seed)]) {
          try {
            explore(weakening.scenario, schedule, weakening.isOrdered ?? false, weakening);
          } catch {
            return;
          }
        }
      }
      assert.fail(`${MOST_SEARCHED} schedules of "${weakening.scenario}" show nothing`);
    });
  }
});
