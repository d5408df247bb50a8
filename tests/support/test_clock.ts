import { virtualClock } from "../../adapters/testing/testing.ts";
import type { Clock } from "../../core/clock.ts";

/** `virtualClock` by its older names. */
export interface TestClock extends Clock {
  after(milliseconds: number, wake: () => void): () => void;
  /** As `pass` of a `virtualClock`. */
  advance(milliseconds: number): Promise<void>;
  /** How many wait. */
  waiting(): number;
}

/** A clock for tests, at `now`. */
export function testClock(now = 1_764_000_000_000): TestClock {
  const clock = virtualClock(now);
  const { after, pass } = clock;
  return Object.assign(() => clock(), { after, advance: pass, waiting: () => clock.sleepers });
}
