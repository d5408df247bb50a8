/*
 * From a decision to a verdict: the header fields, the refusal, and what settles an admitted request
 * at its end.
 */
import type { Decision } from "../../../core/decision.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import { retryAfterField } from "../fields/retry_after.ts";
import type { GateSettings } from "./gate_settings.ts";
import { changedRefusal, type Refusal, refusalOf } from "./refusal.ts";
import { settlement } from "./refund_rule.ts";
import { refundUnits } from "./refund_units.ts";
import type { GateCall } from "./gate_call.ts";
import { NO_STORE, type Verdict, verdictOf } from "./verdict.ts";

/**
 * The verdict that a decision makes.
 *
 * @param givePlaceBack How to give the call's place in a queue back, if it has one.
 */
export function writeVerdict<Request, Info>(
  settings: GateSettings<Request, Info>,
  call: GateCall<Request, Info>,
  decision: Decision,
  givePlaceBack?: () => unknown,
): Verdict {
  const settle = settleOf(settings, call, decision, givePlaceBack);
  if (call.shadowed) return verdictOf(decision, [], undefined, settle);
  const headers = limitFields(settings, call, decision);
  if (!decision.allowed) addRetryAfter(settings, headers, decision);
  if (settings.exposeHeaders) expose(headers);
  if (decision.allowed) return verdictOf(decision, headers, undefined, settle);
  headers.push(NO_STORE);
  return verdictOf(decision, headers, refusalFor(settings, call, decision), undefined);
}

/** What settles an admitted request at its end; `undefined` if it has nothing to be given back. */
function settleOf<Request, Info>(
  { isRefunded, report }: GateSettings<Request, Info>,
  { request, plan, key, units }: GateCall<Request, Info>,
  decision: Decision,
  givePlaceBack: (() => unknown) | undefined,
): Verdict["settle"] {
  if (isRefunded === undefined || !decision.allowed) return undefined;
  if (units <= 0 || decision.source === "policy") return undefined;
  const { limiter } = plan;
  return settlement(
    limiter,
    givePlaceBack ?? ((passed) => refundUnits(limiter, key, units, decision, passed)),
    isRefunded,
    (error) => report(error, request),
  );
}

function limitFields<Request, Info>(
  { partition, now }: GateSettings<Request, Info>,
  { request, info, plan }: GateCall<Request, Info>,
  decision: Decision,
): HeaderField[] {
  const partitionKey = partition === undefined ? undefined : partition(request, info);
  return plan.fields(decision, now === undefined ? 0 : now(), partitionKey);
}

function addRetryAfter<Request, Info>(
  { jitter, random }: GateSettings<Request, Info>,
  headers: HeaderField[],
  { retryAfter }: Decision,
): void {
  if (retryAfter === Infinity) return;
  headers.push(retryAfterField(retryAfter + (jitter === 0 ? 0 : jitter * random())));
}

/** Names the fields at hand to scripts of other origins, which see no others. */
function expose(headers: HeaderField[]): void {
  if (headers.length === 0) return;
  headers.push(["Access-Control-Expose-Headers", headers.map(([name]) => name).join(", ")]);
}

function refusalFor<Request, Info>(
  { respond, report }: GateSettings<Request, Info>,
  { request, plan }: GateCall<Request, Info>,
  decision: Decision,
): Refusal {
  const usual = refusalOf(decision, plan.violated(decision));
  const change = respond?.(usual, decision, request);
  if (!change) return usual;
  try {
    return changedRefusal(usual, change);
  } catch (error) {
    report(error, request);
    return usual;
  }
}
