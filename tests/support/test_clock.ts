import type { Clock } from "../../core/clock.ts";

/** A clock that stands still until it is told to go on. */
export interface TestClock extends Clock {
  after(milliseconds: number, wake: () => void): () => void;
  /**
   * Goes on by so many milliseconds, waking whoever waits, in the order of their times. After each
   * one everything that follows at once is let happen.
   */
  advance(milliseconds: number): Promise<void>;
  /** How many wait. */
  waiting(): number;
}

/** A clock for tests, at `now`. */
export function testClock(now = 1_764_000_000_000): TestClock {
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  const clock = () => now;
  return Object.assign(clock, {
    after(milliseconds: number, wake: () => void) {
      const sleeper = { at: now + milliseconds, wake };
      sleepers.add(sleeper);
      return () => void sleepers.delete(sleeper);
    },
    async advance(milliseconds: number) {
      const end = now + milliseconds;
      await settled();
      while (true) {
        const [next] = [...sleepers].sort((one, other) => one.at - other.at);
        if (next === undefined || next.at > end) break;
        now = Math.max(now, next.at);
        sleepers.delete(next);
        next.wake();
        await settled();
      }
      now = end;
    },
    waiting: () => sleepers.size,
  });
}

/** When what is under way without waiting for time has come to rest. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
