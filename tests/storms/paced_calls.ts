import { setTimeout as wait } from "node:timers/promises";

/** The outcome of calls. */
export interface Outcome {
  readonly calls: number;
  /** Milliseconds of the calls that were answered, sorted. */
  readonly times: readonly number[];
  /** Milliseconds of the slowest call, answered or failed. */
  readonly longest: number;
  readonly errors: readonly Error[];
}

/**
 * Makes so many calls a second, whether or not those before were answered.
 *
 * @param milliseconds How long calls are made.
 */
export async function pacedCalls(
  perSecond: number,
  milliseconds: number,
  call: (index: number) => Promise<unknown>,
): Promise<Outcome> {
  const times: number[] = [];
  const errors: Error[] = [];
  const settled: Promise<void>[] = [];
  let longest = 0;
  const start = performance.now();

  async function measure(index: number): Promise<void> {
    const began = performance.now();
    try {
      await call(index);
      times.push(performance.now() - began);
    } catch (error) {
      errors.push(error as Error);
    }
    longest = Math.max(longest, performance.now() - began);
  }

  for (let passed = 0; passed < milliseconds; passed = performance.now() - start) {
    while (settled.length <= passed * perSecond / 1_000) settled.push(measure(settled.length));
    await wait(1);
  }
  await Promise.all(settled);
  times.sort((a, b) => a - b);
  return { calls: settled.length, times, longest, errors };
}

/** The time that a share of the calls did not exceed, in whole milliseconds; 0 if none was answered. */
export function percentile({ times }: Outcome, share: number): number {
  return Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
}
