import { countTime, type Histogram, noTimes } from "./histogram.ts";

/** Milliseconds between looks. */
const EVERY = 100;

/** How late a thread's timers come: for so long its calls wait, too. */
export interface LoopDelays {
  readonly times: Histogram;
  stop(): void;
}

/** Measures it, on runtimes without a measure of their own as well. */
export function loopDelays(): LoopDelays {
  const times = noTimes();
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    countTime(times, Math.max(0, now - last - EVERY) / 1_000);
    last = now;
  }, EVERY);
  (timer as { unref?: () => void }).unref?.();
  return { times, stop: () => clearInterval(timer) };
}
