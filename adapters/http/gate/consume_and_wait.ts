import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import { refundingNewest, withMaxDelay } from "../../../core/limiter/projection.ts";
import { sleep } from "../sleep.ts";
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
 * @param report Called with the decision before the wait.
 * @returns The call's turn; `undefined` if the client has gone away.
 */
export async function consumeAndWait(
  limiter: AnyLimiter,
  key: string,
  cost: number,
  signal: AbortSignal | undefined,
  report: (decision: Decision) => void,
): Promise<StartedCall | undefined> {
  if (signal?.aborted) return undefined;
  const internals = internalsOf(limiter);
  if (internals === undefined) {
    const decision = await limiter.consume(key, cost);
    report(decision);
    const isHere = decision.delay === 0 || await sleep(undefined, decision.delay, signal);
    return isHere ? { decision, giveBack: () => limiter.refund(key, cost) } : undefined;
  }
  let freshAt = 0;
  const run = (algorithm: Algorithm, units: number) =>
    limiter.store.run([{ ...internals.operation(key, units), algorithm }], internals.now());
  const giveBack = () => run(refundingNewest(limiter.algorithm, freshAt), -cost);
  const observed = withMaxDelay(
    limiter.algorithm,
    Infinity,
    (attempt) => freshAt = attempt.freshAt,
  );
  const [decision] = await run(observed, cost);
  internals.report(decision!, key, cost);
  report(decision!);
  const { delay } = decision!;
  if (delay === 0 || await sleep(internals.clock, delay, signal)) {
    return { decision: decision!, giveBack };
  }
  await giveBack();
  return undefined;
}
