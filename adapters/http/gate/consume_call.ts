/*
 * The decision about a request whose limiter, key and cost are known, and the wait that some
 * decisions ask for.
 */
import { isPromise } from "../../../core/maybe_promise.ts";
import type { Decision } from "../../../core/decision.ts";
import { chain } from "../chain.ts";
import { sleep } from "../sleep.ts";
import { consumeAndWait } from "./consume_and_wait.ts";
import type { GateCall } from "./gate_call.ts";
import type { GateSettings } from "./gate_settings.ts";
import { isStoreFailure } from "./is_store_failure.ts";
import { GONE, UNAVAILABLE } from "./refusal.ts";
import { refuse, UNLIMITED, type Verdict } from "./verdict.ts";
import { writeVerdict } from "./write_verdict.ts";

/** Decides about a call; at once if the limiter answers at once and the call need not wait. */
export function consumeCall<Request, Info>(
  settings: GateSettings<Request, Info>,
  call: GateCall<Request, Info>,
): Verdict | Promise<Verdict> {
  const { key, units, shadowed } = call;
  const { delays, limiter } = call.plan;
  try {
    const answer = delays && !shadowed
      ? waitForTurn(settings, call)
      : chain(limiter.consume(key, units), (decision) => start(settings, call, decision));
    return isPromise(answer)
      ? Promise.resolve(answer).catch((error) => failed(settings, call, error))
      : answer;
  } catch (error) {
    return failed(settings, call, error);
  }
}

/** A store that cannot decide is not the request's fault. */
function failed<Request, Info>(
  { notice }: GateSettings<Request, Info>,
  { request, shadowed }: GateCall<Request, Info>,
  error: unknown,
): Verdict {
  if (!isStoreFailure(error)) throw error;
  notice(error, request);
  return shadowed ? UNLIMITED : refuse(UNAVAILABLE);
}

/** Waits until the call may start. */
async function waitForTurn<Request, Info>(
  settings: GateSettings<Request, Info>,
  call: GateCall<Request, Info>,
): Promise<Verdict> {
  const { request, info, key, units } = call;
  const signal = settings.source.signal(request, info);
  const report = (decision: Decision) => settings.onDecision?.(decision, request, key);
  const turn = await consumeAndWait(call.plan.limiter, key, units, signal, report);
  return turn === undefined
    ? refuse(GONE)
    : writeVerdict(settings, call, turn.decision, turn.giveBack);
}

/** Lets an admitted call wait that nobody knew would have to: its place stays its own. */
function start<Request, Info>(
  settings: GateSettings<Request, Info>,
  call: GateCall<Request, Info>,
  decision: Decision,
): Verdict | Promise<Verdict> {
  const { request, info, key, shadowed } = call;
  settings.onDecision?.(decision, request, key);
  if (decision.delay === 0 || shadowed) return writeVerdict(settings, call, decision);
  const signal = settings.source.signal(request, info);
  return sleep(undefined, decision.delay, signal).then((isHere) =>
    isHere ? writeVerdict(settings, call, decision) : refuse(GONE)
  );
}
