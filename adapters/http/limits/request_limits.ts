/*
 * Limits for the gate: reads what a request takes from each limit, takes it, and gives the
 * units back when that is asked for.
 */

import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { Decision } from "../../../core/decision.ts";
import { type Period, readLongestWait } from "../../../core/options/period.ts";
import { giveBack } from "../../../core/together/taken.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import type { HeaderWriterOptions } from "../fields/header_writer.ts";
import type { Decided, Decider } from "../gate/decider.ts";
import type { MissingKey, UnknownAddress } from "./key_faults.ts";
import { callsOf, type LimitsAsked } from "./limit_call.ts";
import { limitCallReader, type LimitsSource, type ReaderContext } from "./limit_call_reader.ts";
import { type GivenLimit, type GivenLimits, limitsOf, type UnitLimiter } from "./limit_options.ts";
import { emptyPlan, nextPlan } from "./limit_plan.ts";
import { holdFromLimits, type LimitsTaken, takeFromLimits } from "./take_from_limits.ts";

/** The decisions of a request's limits. */
export interface LimitsDecided extends Decided {
  readonly asked: LimitsAsked;
  /** The answer of the limits; `undefined` if a single limit answered with a decision. */
  readonly taken: LimitsTaken | undefined;
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
): Decider<LimitsAsked, LimitsDecided> {
  const { unknownAddress, missingKey, maxDelay: longest = Infinity } = options;
  const maxDelay = readLongestWait(action, "maxDelay", longest);
  const refunds = options.refund !== undefined;
  const next = nextPlan({ ...options, refunds });
  const empty = emptyPlan({ headers: false });
  const readers = sharingStore(limitsOf(action, options)).map((limit) =>
    limitCallReader(limit, { source, unknownAddress, missingKey, refunds, empty, next, notice })
  );
  readers.reduce((plan, { fixed }) => fixed === undefined ? plan : next(plan, fixed), empty);

  const only = readers.length === 1 ? readers[0] : undefined;

  /** Reads the calls of a request on its limits, from one limit on. */
  function readFrom(first: number, asked: LimitsAsked): void | Promise<void> {
    for (let index = first; index < readers.length; index++) {
      if (asked.refusal !== undefined) return;
      const reading = readers[index]!.read(asked);
      if (reading !== undefined) return reading.then(() => readFrom(index + 1, asked));
    }
  }

  return {
    ask(request, info, shadowed) {
      const asked: LimitsAsked = {
        request,
        info,
        shadowed,
        refusal: undefined,
        delays: false,
        plan: empty,
        limiter: undefined,
        key: "",
        argument: 0,
        calls: undefined,
      };
      const reading = only === undefined ? readFrom(0, asked) : only.read(asked);
      return reading === undefined ? limited(asked) : limitedLater(asked, reading);
    },
    take(asked) {
      const { plan: { delays, holds, keeps }, calls, limiter, key, argument, shadowed } = asked;
      if (keeps || holds || (delays && !shadowed)) {
        const taken = holdFromLimits(asked, maxDelay);
        return isTaken(taken) ? decidedBy(asked, taken) : decidedLater(asked, taken);
      }
      if (calls === undefined) {
        const decision = (limiter as UnitLimiter).consume(key, argument);
        return isDecision(decision)
          ? decidedAlone(asked, decision, undefined)
          : decidedAloneLater(asked, decision);
      }
      const taken = takeFromLimits(calls);
      return isTaken(taken) ? decidedBy(asked, taken) : decidedLater(asked, taken);
    },
    chargesOf: callsOf,
    clockOf: ({ asked }) => clockOf(asked),
    releaseOf({ taken }) {
      const permits = taken?.permits ?? [];
      return permits.length === 0 ? undefined : () => permits.forEach((permit) => permit.release());
    },
    refundOf({ taken }) {
      const units = taken?.units ?? [];
      return units.length === 0 ? undefined : () => giveBack(units);
    },
  };
}

/** Several limits, of which those without a store share one. */
function sharingStore(limits: readonly GivenLimit[]): readonly GivenLimit[] {
  if (limits.length === 1) return limits;
  const store = memoryStore();
  return limits.map((limit, index) =>
    limit.limiter === undefined && limit.store === undefined
      ? { ...limit, store, prefix: `own ${index}` }
      : limit
  );
}

/** A request whose calls are read; `undefined` if no limit applies to it. */
function limited(asked: LimitsAsked): LimitsAsked | undefined {
  return asked.limiter === undefined && asked.refusal === undefined ? undefined : asked;
}

// These are functions of their own, because a function that makes a closure pays for it at every call.

async function limitedLater(asked: LimitsAsked, reading: Promise<void>) {
  await reading;
  return limited(asked);
}

async function decidedAloneLater(asked: LimitsAsked, decision: Promise<Decision>) {
  return decidedAlone(asked, await decision, undefined);
}

async function decidedLater(asked: LimitsAsked, taken: PromiseLike<LimitsTaken>) {
  return decidedBy(asked, await taken);
}

// These look for a member that is there, because looking for a `then` that is absent costs much more.
function isTaken(taken: LimitsTaken | PromiseLike<LimitsTaken>): taken is LimitsTaken {
  return (taken as LimitsTaken).decisions !== undefined;
}

function isDecision(decision: Decision | Promise<Decision>): decision is Decision {
  return (decision as Decision).allowed !== undefined;
}

/** The decision of a single limit. */
function decidedAlone(
  asked: LimitsAsked,
  decision: Decision,
  taken: LimitsTaken | undefined,
): LimitsDecided {
  const { plan: { policies, simple }, key } = asked;
  const lefts = simple && decision.source === undefined
    ? [decision]
    : flatParts(decision, policies.names.length);
  const clock = decision.delay === 0 ? undefined : clockOf(asked);
  return { decision, key, policies, lefts, clock, refusal: undefined, asked, taken };
}

/** The decision of several limits. */
function decidedBy(asked: LimitsAsked, taken: LimitsTaken): LimitsDecided {
  const { plan: { limiters, policies, capacity, simple }, calls } = asked;
  const { decisions } = taken;
  if (decisions.length === 1) return decidedAlone(asked, decisions[0]!, taken);
  const decision = combineDecisions(decisions, capacity);
  const lefts = simple && decision.source === undefined
    ? decisions
    : decisions.flatMap((decision, index) => flatParts(decision, limiters[index]!.policies));
  const { key } = calls![decision.allowed ? 0 : decisions.findIndex(({ allowed }) => !allowed)]!;
  const clock = decision.delay === 0 ? undefined : clockOf(asked);
  return { decision, key, policies, lefts, clock, refusal: undefined, asked, taken };
}

function clockOf({ plan }: LimitsAsked): Decided["clock"] {
  return plan.last?.counter.clock;
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
