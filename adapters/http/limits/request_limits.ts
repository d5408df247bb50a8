/*
 * Limits for the gate: reads what a request takes from each limit, takes it, and gives the
 * units back when that is asked for.
 */

import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { Decision } from "../../../core/decision.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import { allOf, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import { type Period, readLongestWait } from "../../../core/options/period.ts";
import type { HeaderWriterOptions } from "../fields/header_writer.ts";
import type { Decided, Decider } from "../gate/decider.ts";
import type { MissingKey, UnknownAddress } from "./key_faults.ts";
import { type LimitCall, limitCallsOf } from "./limit_call.ts";
import { limitCallReader, type LimitsSource, type ReaderContext } from "./limit_call_reader.ts";
import { type GivenLimits, limitsOf } from "./limit_options.ts";
import { emptyPlan, nextPlan } from "./limit_plan.ts";
import { type Answer, decisionOf, releaseOf, takeFromLimits, undoIn } from "./take_from_limits.ts";

/** The decisions of a request's limits. */
export interface LimitsDecided extends Decided {
  /** Its calls on them. */
  readonly call: LimitCall;
  /**
   * The answers of the limits, in order; `undefined` if a single limit answered with a decision.
   */
  readonly answers: readonly Answer[] | undefined;
}

/** The options of a gate's limits. */
export type RequestLimitsOptions = GivenLimits & HeaderWriterOptions & {
  readonly refund?: unknown;
  readonly unknownAddress?: UnknownAddress;
  readonly missingKey?: MissingKey;
  readonly maxDelay?: Period | undefined;
};

/**
 * Makes the limits of a gate.
 *
 * @param notice Receives the error of an unknown address in shadow mode.
 * @throws {TypeError} If there is no limit, or one of the wrong type.
 * @throws {RangeError} If a policy cannot stand in header fields.
 */
export function requestLimits(
  action: string,
  options: RequestLimitsOptions,
  source: LimitsSource,
  notice: ReaderContext["notice"],
): Decider<LimitCall, LimitsDecided> {
  const { unknownAddress, missingKey, maxDelay: longest = Infinity } = options;
  const maxDelay = readLongestWait(action, "maxDelay", longest);
  const next = nextPlan({ ...options, refunds: options.refund !== undefined });
  const empty = emptyPlan({ headers: false });
  const readers = limitsOf(action, options)
    .map((limit) =>
      limitCallReader(limit, { source, unknownAddress, missingKey, empty, next, notice })
    );
  readers.reduce((plan, { fixed }) => fixed === undefined ? plan : next(plan, fixed), empty);
  const { read } = readers[0]!;

  function askFrom(
    first: number,
    before: LimitCall | undefined,
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): MaybePromise<LimitCall | undefined> {
    let last = before;
    for (let index = first; index < readers.length; index++) {
      const found = readers[index]!.read(request, info, shadowed, last);
      if (!isAtHand(found) && isPromise(found)) {
        return found.then((found) =>
          found?.refusal === undefined ? askFrom(index + 1, found, request, info, shadowed) : found
        );
      }
      if (found?.refusal !== undefined) return found;
      last = found;
    }
    return last;
  }

  return {
    ask: readers.length === 1
      ? (request, info, shadowed) => read(request, info, shadowed, undefined)
      : (request, info, shadowed) => askFrom(0, undefined, request, info, shadowed),
    take(call) {
      const { plan, limiter, key, argument, shadowed } = call;
      const isPlain = plan.limiters.length === 1 && !plan.holds && !plan.keeps;
      if (!isPlain || (plan.delays && !shadowed)) {
        const calls = limitCallsOf(call);
        const answers = takeFromLimits(call, calls, maxDelay);
        return isPromise(answers)
          ? answers.then((answers) => decidedBy(call, calls, answers))
          : decidedBy(call, calls, answers);
      }
      const decision = limiter.consume(key, argument);
      return (decision as Decision).allowed === undefined && isPromise(decision)
        ? decision.then((decision) => decidedAlone(call, decision, undefined))
        : decidedAlone(call, decision as Decision, undefined);
    },
    chargesOf: limitCallsOf,
    clockOf: ({ call }) => clockOf(call),
    releaseOf: ({ call, answers }) => call.plan.holds ? releaseAll(answers!) : undefined,
    refundOf({ answers = [] }) {
      const undos = answers.flatMap((answer) => undoIn(answer) ?? []);
      return undos.length < 2 ? undos[0] : () => allOf(undos.map((undo) => undo()));
    },
  };
}

/** Makes the function that releases the permits in answers; `undefined` if they hold no permit. */
function releaseAll(answers: readonly Answer[]): (() => void) | undefined {
  const releases = answers.flatMap((answer) => releaseOf(answer) ?? []);
  return releases.length === 0 ? undefined : () => releases.forEach((release) => release());
}

/**
 * Whether the call is there already, and not promised. This looks for `plan`, because looking for
 * a `then` that is absent costs much more.
 */
function isAtHand(found: MaybePromise<LimitCall | undefined>): found is LimitCall | undefined {
  return (found as LimitCall | undefined)?.plan !== undefined;
}

/** The decision of a single limit. */
function decidedAlone(
  call: LimitCall,
  decision: Decision,
  answers: readonly Answer[] | undefined,
): LimitsDecided {
  const { plan: { policies, simple }, key } = call;
  const lefts = simple && decision.source === undefined
    ? [decision]
    : flatParts(decision, policies.names.length);
  const clock = decision.delay === 0 ? undefined : clockOf(call);
  return { decision, key, policies, lefts, clock, refusal: undefined, call, answers };
}

/** The decisions of several limits. */
function decidedBy(
  call: LimitCall,
  calls: readonly LimitCall[],
  answers: readonly Answer[],
): LimitsDecided {
  const { limiters, policies, capacity, together, simple } = call.plan;
  if (answers.length === 1) return decidedAlone(call, decisionOf(answers[0]!), answers);
  const decisions = together ? answers as readonly Decision[] : answers.map(decisionOf);
  const decision = combineDecisions(decisions, capacity);
  const lefts = simple && decision.source === undefined
    ? decisions
    : decisions.flatMap((decision, index) => flatParts(decision, limiters[index]!.policies));
  const { key } = calls[decision.allowed ? 0 : decisions.findIndex(({ allowed }) => !allowed)]!;
  const clock = decision.delay === 0 ? undefined : clockOf(
    calls[decisions.findIndex(({ delay }) => delay === decision.delay)]!,
  );
  return { decision, key, policies, lefts, clock, refusal: undefined, call, answers };
}

function clockOf({ limiter }: LimitCall): Decided["clock"] {
  return internalsOf(limiter)?.clock;
}

/**
 * The decision of each policy, in the order of the policies, with nested `all` flattened.
 * `undefined` stands for an answer of the failure policy, which says nothing about the limit.
 */
function flatParts(decision: Decision, policies: number): readonly (Decision | undefined)[] {
  if (decision.source === "policy") return new Array<undefined>(policies).fill(undefined);
  if (decision.parts === undefined) return [decision];
  return decision.parts.flatMap((part) => flatParts(part, 1));
}
