/*
 * Limits as the gate uses them: from a request to what it takes from which limiter.
 *
 * Each step calls an option's function, which may answer by a promise, and goes on with its answer.
 * One comes after the other: if two ran at once and both failed, nobody would handle the second
 * failure, and it would end the process.
 */

import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { Decision } from "../../../core/decision.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import { allOf, andThen, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import type { RequestSource } from "../address/client_key.ts";
import type { HeaderWriterOptions } from "../fields/header_writer.ts";
import type { Asked, Decided, Decider } from "../gate/decider.ts";
import type { Refusal } from "../gate/refusal.ts";
import { type Charge, chargeLimits, refundCharge, type Taken } from "./charge_limits.ts";
import { freshLimiterNotice } from "./fresh_limiters.ts";
import { type KeyCheck, keyCheck, type UnknownAddress } from "./key_faults.ts";
import { type AnyLimiter, type GivenLimit, type GivenLimits, limitsOf } from "./limit_options.ts";
import { emptyPlan, type LimitPlan, nextPlan } from "./limit_plan.ts";
import { policyLimiter } from "./policy_limiter.ts";

/** What a request takes from its limits. */
export interface LimitCall extends Asked {
  readonly plan: LimitPlan;
  /** What it takes from each limiter of the plan. */
  readonly charges: readonly Charge[];
}

/** What its limits decided. */
export interface LimitsDecided extends Decided {
  readonly charges: readonly Charge[];
  readonly taken: readonly Taken[];
}

/** What the limits of a gate are made of. */
export interface RequestLimitsOptions extends GivenLimits, HeaderWriterOptions {
  readonly unknownAddress?: UnknownAddress;
}

/** How a gate reads what limits need of a request. */
export interface LimitsSource extends Pick<RequestSource<unknown, unknown>, "signal"> {
  /** The key of a request without an own one; `undefined` if it is not known. */
  clientKey(request: unknown, info: unknown): string | undefined;
}

type Report = (error: unknown, request: unknown) => void;

/** Milliseconds for which a request waits for its key. */
const KEY_WITHIN = 10_000;

/**
 * Makes the limits of a gate.
 *
 * @param notice Given the error of an unknown address in shadow mode.
 * @throws {TypeError} If there is no limit, or one of the wrong type.
 * @throws {RangeError} If a policy cannot stand in header fields.
 */
export function requestLimits(
  action: string,
  options: RequestLimitsOptions,
  source: LimitsSource,
  notice: Report,
): Decider<LimitCall, LimitsDecided> {
  const readers = limitsOf(action, options)
    .map((limit) => chargeReader(action, limit, options.unknownAddress, source, notice));
  const next = nextPlan(options);
  const empty = emptyPlan({ headers: false });
  readers.reduce((plan, { fixed }) => fixed === undefined ? plan : next(plan, fixed), empty);

  function askFrom(
    first: number,
    plan: LimitPlan,
    charges: readonly Charge[],
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): MaybePromise<LimitCall | undefined> {
    for (let index = first; index < readers.length; index++) {
      const found = readers[index]!.read(request, info, shadowed);
      if (isPromise(found)) {
        return askLater(found, index, plan, charges, request, info, shadowed);
      }
      if (found === undefined) continue;
      if (found.refusal !== undefined) return refusedCall(found.refusal, plan);
      const joined = joinedCharges(charges, found);
      if (joined === undefined) plan = next(plan, found.limiter);
      charges = joined ?? (charges.length === 0 ? [found] : [...charges, found]);
    }
    return charges.length === 0 ? undefined : callOf(plan, charges);
  }

  /** Goes on when the answer of a limit's functions is there. */
  function askLater(
    later: PromiseLike<Charge | undefined>,
    index: number,
    plan: LimitPlan,
    charges: readonly Charge[],
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): MaybePromise<LimitCall | undefined> {
    return Promise.resolve(later).then((found) => {
      if (found?.refusal !== undefined) return refusedCall(found.refusal, plan);
      const joined = found && joinedCharges(charges, found);
      const grown = found !== undefined && joined === undefined;
      return askFrom(
        index + 1,
        grown ? next(plan, found.limiter) : plan,
        joined ?? (grown ? [...charges, found] : charges),
        request,
        info,
        shadowed,
      );
    });
  }

  return {
    ask: (request, info, shadowed) => askFrom(0, empty, NO_CHARGES, request, info, shadowed),
    take(call, shadowed) {
      const taken = chargeLimits(call.plan, call.charges, !shadowed);
      return isPromise(taken)
        ? taken.then((taken) => decidedBy(call, taken))
        : decidedBy(call, taken);
    },
    refundOf({ charges, taken }) {
      const refunds = charges.flatMap((charge, index) => refundCharge(charge, taken[index]!) ?? []);
      if (refunds.length < 2) return refunds[0];
      return () => allOf(refunds.map((refund) => refund() as MaybePromise<unknown>));
    },
  };
}

const NO_CHARGES: readonly Charge[] = [];

function callOf(plan: LimitPlan, charges: readonly Charge[]): LimitCall {
  return { refusal: undefined, delays: plan.delays, plan, charges };
}

function refusedCall(refusal: Refusal, plan: LimitPlan): LimitCall {
  return { refusal, delays: false, plan, charges: NO_CHARGES };
}

/** Reads what a request takes from one limit: `undefined` if nothing. */
interface ChargeReader {
  /** The limiter, unless it is chosen for each request. */
  readonly fixed: AnyLimiter | undefined;
  read(
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): MaybePromise<Charge | undefined>;
}

function chargeReader(
  action: string,
  limit: GivenLimit,
  unknownAddress: UnknownAddress,
  source: LimitsSource,
  notice: Report,
): ChargeReader {
  const { cost = 1 } = limit;
  const limiter = limit.policy === undefined ? limit.limiter! : policyLimiter(action, limit);
  const isChosen = typeof limiter === "function";
  const keyOf = limit.key ?? source.clientKey;
  const faultOf: KeyCheck = keyCheck(limit.key !== undefined, unknownAddress, source, notice);
  const noticeFresh = isChosen && limit.policy === undefined ? freshLimiterNotice() : undefined;

  function readKey(
    limiter: AnyLimiter | undefined,
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): MaybePromise<Charge | undefined> {
    if (limiter === undefined) return undefined;
    const key = keyOf(request, info);
    return isPromise(key)
      ? withTimeout(Promise.resolve(key), KEY_WITHIN, keyIsLate)
        .then((key) => readCost(limiter, key, request, info, shadowed))
      : readCost(limiter, key, request, info, shadowed);
  }

  function readCost(
    limiter: AnyLimiter,
    key: string | null | undefined,
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): MaybePromise<Charge | undefined> {
    const fault = faultOf(key, request, info, shadowed);
    if (fault !== undefined) {
      return fault === "admit" ? undefined : { limiter, key: "", units: 0, refusal: fault };
    }
    noticeFresh?.(limiter, key!);
    const units = typeof cost === "number" ? cost : cost(request, info);
    return isPromise(units)
      ? Promise.resolve(units).then((units): Charge => ({
        limiter,
        key: key!,
        units,
        refusal: undefined,
      }))
      : { limiter, key: key!, units, refusal: undefined };
  }

  return {
    fixed: isChosen ? undefined : limiter,
    read: isChosen
      ? (request, info, shadowed) =>
        andThen(limiter(request, info), (chosen) => readKey(chosen, request, info, shadowed))
      : (request, info, shadowed) => readKey(limiter, request, info, shadowed),
  };
}

function keyIsLate(): never {
  throw new Error(`Cannot limit the rate as key must answer within ${KEY_WITHIN} ms`);
}

/**
 * The charges with one more on a stored key that is among them: its units are added. Clients may
 * choose their keys so that two are the same. `undefined` if the key is another one.
 */
function joinedCharges(charges: readonly Charge[], more: Charge): readonly Charge[] | undefined {
  if (charges.length === 0) return undefined;
  const twin = charges.findIndex((each) => isSameCharge(each, more));
  if (twin === -1) return undefined;
  const joined = { ...more, units: charges[twin]!.units + more.units };
  return charges.with(twin, joined);
}

function isSameCharge(one: Charge, other: Charge): boolean {
  if (one.key !== other.key) return false;
  const { limiter: { store, prefix, algorithm } } = one;
  const { limiter } = other;
  if (one.limiter === limiter) return true;
  return store === limiter.store && prefix === limiter.prefix &&
    algorithm.id === limiter.algorithm.id;
}

function decidedBy({ plan, charges }: LimitCall, taken: readonly Taken[]): LimitsDecided {
  const { policies, capacity } = plan;
  if (taken.length === 1) {
    const { decision } = taken[0]!;
    const { key } = charges[0]!;
    const lefts = flatParts(decision, policies.names.length);
    return {
      decision,
      key,
      policies,
      lefts,
      clock: clockOf(charges[0]!, decision),
      charges,
      taken,
    };
  }
  const decisions: Decision[] = [];
  const lefts: (Decision | undefined)[] = [];
  let refusing = -1;
  for (let index = 0; index < taken.length; index++) {
    const { decision } = taken[index]!;
    decisions.push(decision);
    const { policies } = plan.limiters[index]!;
    if (policies === 1 && decision.source !== "policy") lefts.push(decision);
    else lefts.push(...flatParts(decision, policies));
    if (refusing === -1 && !decision.allowed) refusing = index;
  }
  const decision = combineDecisions(decisions, capacity);
  const { key } = charges[Math.max(0, refusing)]!;
  const slowest = decision.delay === 0
    ? 0
    : decisions.findIndex(({ delay }) => delay === decision.delay);
  const clock = clockOf(charges[slowest]!, decision);
  return { decision, key, policies, lefts, clock, charges, taken };
}

function clockOf({ limiter }: Charge, { delay }: Decision): Decided["clock"] {
  return delay === 0 ? undefined : internalsOf(limiter)?.clock;
}

/**
 * The decision of each policy, in the order of the policies; an `all` within an `all` unfolded. The
 * failure policy's answers say nothing about the limit.
 */
function flatParts(decision: Decision, policies: number): readonly (Decision | undefined)[] {
  if (decision.source === "policy") return new Array<undefined>(policies).fill(undefined);
  if (decision.parts === undefined) return [decision];
  return decision.parts.flatMap((part) => flatParts(part, 1));
}
