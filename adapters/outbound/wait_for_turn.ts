/*
 * The wait before a request is sent: for the end of the server's pause, then in the limiter's queue.
 */
import { RateLimitedError } from "../../core/errors.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { mayDelay } from "../../core/algorithms/may_delay.ts";
import { sleep } from "../../core/sleep.ts";
import type { FetchCall } from "./fetch_call.ts";
import type { FetchSettings } from "./fetch_options.ts";

/**
 * Waits until a request may be sent.
 *
 * @throws {RateLimitedError} If that would be after its deadline.
 * @throws What its signal was aborted with; what it had taken is given back.
 */
export async function waitForTurn(settings: FetchSettings, call: FetchCall): Promise<void> {
  const { limiter, cost, passed, pauses } = settings;
  const { key, pauseKey, signal, deadline } = call;
  while (true) {
    await waitOutPause(settings, call);
    if (limiter === undefined) return;
    const maxWait = Math.max(0, deadline - passed());
    const { source } = await limiter.acquire(key, { cost, maxWait, signal });
    // The server may have announced a pause meanwhile: what is held until its end would be sent in
    // one burst.
    if (!signal?.aborted && pauses.left(pauseKey, passed()) === 0) return;
    // Others may stand behind a place in a queue, so that it cannot be given back.
    const mayGiveBack = cost > 0 && source !== "policy" && !mayDelay(limiter.algorithm);
    if (mayGiveBack) await limiter.refund(key, cost);
    signal?.throwIfAborted();
  }
}

/** Waits; an abort of the signal ends it with the signal's reason. */
export async function waitOrThrow(
  { clock }: FetchSettings,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!await sleep(clock, milliseconds, signal)) throw signal!.reason;
}

async function waitOutPause(settings: FetchSettings, call: FetchCall): Promise<void> {
  const { passed, pauses } = settings;
  const { key, pauseKey, signal, deadline } = call;
  const leftNow = () => pauses.left(pauseKey, passed());
  for (let left = leftNow(); left > 0; left = leftNow()) {
    if (passed() + left > deadline) throw tooLong(key, left);
    await waitOrThrow(settings, left, signal);
  }
}

function tooLong(key: string, pause: number): RateLimitedError {
  const refusal = makeDecision(false, 0, 0, pause, pause, pause, 0, 0, "policy", undefined);
  return new RateLimitedError(
    `Cannot fetch from ${JSON.stringify(key)} as the server's pause must end within maxWait: ` +
      `it ends in ${pause} ms`,
    refusal,
  );
}
