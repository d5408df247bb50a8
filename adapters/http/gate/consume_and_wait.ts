import type { Algorithm } from "../../../core/algorithm.ts";
import { afterRealTime } from "../../../core/clock.ts";
import type { Decision } from "../../../core/decision.ts";
import { internalsOf, type LimiterInternals } from "../../../core/limiter/limiter.ts";
import { refundingNewest, withMaxDelay } from "../../../core/limiter/projection.ts";
import type { AnyLimiter } from "./rate_limit_options.ts";

/** A call that may start. */
export interface StartedCall {
  /** The decision that admitted it, or refused it. */
  readonly decision: Decision;
  /** Gives its place back if it is the newest. */
  giveBack(): unknown;
}

/**
 * Decides at once, as `consume` does, and if the call is admitted waits out its delay.
 * (`acquire` would wait for the admission as well, where a server must refuse.)
 *
 * A client that goes away meanwhile gives its place back if it is the newest. Any other stays
 * charged: if it were given back, the next call would get the newest one's start, which is taken.
 *
 * @param tell Told the decision before the wait.
 * @returns The call's turn; `undefined` if the client has gone away.
 */
export async function consumeAndWait(
  limiter: AnyLimiter,
  key: string,
  cost: number,
  signal: AbortSignal | undefined,
  tell: (decision: Decision) => void,
): Promise<StartedCall | undefined> {
  if (signal?.aborted) return undefined;
  const internals = internalsOf(limiter);
  if (internals === undefined) {
    const decision = await limiter.consume(key, cost);
    tell(decision);
    const isHere = await waitUnlessAborted(decision.delay, undefined, signal);
    return isHere ? { decision, giveBack: () => limiter.refund(key, cost) } : undefined;
  }
  let freshAt = 0;
  const run = (algorithm: Algorithm, units: number) =>
    limiter.store.run([{ ...internals.operation(key, units), algorithm }], internals.now());
  const giveBack = () => run(refundingNewest(limiter.algorithm, freshAt), -cost);
  const seeing = withMaxDelay(limiter.algorithm, Infinity, (sight) => freshAt = sight.freshAt);
  const [decision] = await run(seeing, cost);
  internals.report(decision!, key, cost);
  tell(decision!);
  if (await waitUnlessAborted(decision!.delay, internals.clock, signal)) {
    return { decision: decision!, giveBack };
  }
  await giveBack();
  return undefined;
}

/** Answers whether so many milliseconds went by before the signal was aborted. */
export function waitUnlessAborted(
  milliseconds: number,
  clock: LimiterInternals["clock"],
  signal: AbortSignal | undefined,
): Promise<boolean> | boolean {
  if (milliseconds === 0) return true;
  return new Promise((resolve) => {
    const done = () => end(true);
    let cancel = () => {};
    cancel = clock?.after?.(milliseconds, done) ?? afterRealTime(milliseconds, done);
    const abort = () => end(false);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort);

    function end(started: boolean): void {
      cancel();
      signal?.removeEventListener("abort", abort);
      resolve(started);
    }
  });
}
