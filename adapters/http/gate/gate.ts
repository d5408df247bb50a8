/*
 * The engine of every inbound adapter: from a request to a verdict.
 *
 *   request -> skip? -> limiter, key, cost -> decision -> { headers, refusal, settle }
 *
 * Each step calls an option's function, which may answer by a promise, and goes on with its answer.
 * One comes after the other: if two ran at once and both failed, nobody would handle the second
 * failure, and it would end the process.
 *
 * The adapters differ in how they read a request and how they write the verdict down, and in
 * nothing else. All checks and all that does not depend on the request are done when the gate is
 * made. With a limiter that answers at once, and options that do, the verdict is a value and no
 * promise is made.
 *
 * Keys come from clients, so nothing that they send is an error: a key that is missing, empty or not
 * text is answered with a 400. What `limiter`, `key`, `cost` and `skip` throw is the adapter's to
 * pass on, as nothing was decided; a store that cannot decide is a 503. The other functions of the
 * options change no verdict by failing.
 */
import type { Decision } from "../../../core/decision.ts";
import { isStoreError } from "../../../core/errors.ts";
import { internalsOf, type LimiterInternals } from "../../../core/limiter/limiter.ts";
import { refundingNewest, withMaxDelay } from "../../../core/limiter/wrapped_algorithm.ts";
import { andThen, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import { LONGEST_KEY } from "../../../core/options/longest_key.ts";
import { sleep } from "../../../core/sleep.ts";
import { type GateSettings, gateSettings } from "./gate_settings.ts";
import type { RequestSource } from "../address/client_key.ts";
import { nativePromise } from "../native_promise.ts";
import type { LimitPlan } from "./limit_plan.ts";
import type { RateLimitOptions } from "./rate_limit_options.ts";
import { BAD_KEY, GONE, KEY_TOO_LONG, UNAVAILABLE, UNKNOWN_ADDRESS } from "./refusal.ts";
import { type GateCall, refuse, UNLIMITED, type Verdict, verdictOn } from "./verdict.ts";

export type { Verdict } from "./verdict.ts";

type Key = string | null | undefined;

/** Stores keep text, and half a character is not text. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Decides about requests; at once if the limiter and the options answer at once. */
export type Gate<Request, Info = undefined> = (
  request: Request,
  info: Info,
) => Verdict | Promise<Verdict>;

/**
 * Makes the engine of an adapter; also for frameworks that have no adapter here.
 *
 * @param options The options of `rateLimit`.
 * @param source How to read a request of the framework.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { gate } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const decide = gate<{ from: string }>(
 *   { limiter: limiter(gcra({ limit: 1, period: "1m" })) },
 *   { address: ({ from }) => from, header: () => null, signal: () => undefined },
 * );
 *
 * assert.equal((await decide({ from: "192.0.2.7" }, undefined)).refusal, undefined);
 * assert.equal((await decide({ from: "192.0.2.7" }, undefined)).refusal?.status, 429);
 * assert.equal((await decide({ from: "192.0.2.8" }, undefined)).refusal, undefined);
 * ```
 */
export function gate<Request, Info = undefined>(
  options: RateLimitOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): Gate<Request, Info> {
  const settings = gateSettings(
    options as RateLimitOptions<unknown, unknown>,
    source as RequestSource<unknown, unknown>,
  );
  return (request, info) => nativePromise(decideRequest(settings, request, info));
}

/** Decides about a request; at once if the options and the limiter answer at once. */
function decideRequest(
  settings: GateSettings,
  request: unknown,
  info: unknown,
): MaybePromise<Verdict> {
  const { skip, choose, plan } = settings;
  return skip === undefined && choose === undefined
    ? findKey(settings, request, info, plan!)
    : chooseLimiter(settings, request, info);
}

function chooseLimiter(
  settings: GateSettings,
  request: unknown,
  info: unknown,
): MaybePromise<Verdict> {
  const { skip, choose, plan, planOf } = settings;
  return andThen(skip?.(request, info), (skipped): MaybePromise<Verdict> => {
    if (skipped) return UNLIMITED;
    if (choose === undefined) return findKey(settings, request, info, plan!);
    return andThen(
      choose(request, info),
      (limiter) =>
        limiter === undefined ? UNLIMITED : findKey(settings, request, info, planOf(limiter)),
    );
  });
}

function findKey(
  settings: GateSettings,
  request: unknown,
  info: unknown,
  plan: LimitPlan,
): MaybePromise<Verdict> {
  const key = settings.keyOf(request, info);
  return isPromise(key)
    ? key.then((key) => findCost(settings, request, info, plan, key))
    : findCost(settings, request, info, plan, key);
}

function findCost(
  settings: GateSettings,
  request: unknown,
  info: unknown,
  plan: LimitPlan,
  given: Key,
): MaybePromise<Verdict> {
  const { cost, isShadowed } = settings;
  // A promise is not the answer `true`, and nobody is let through for one.
  const shadowed = isShadowed(request, info) === true;
  const fault = keyFault(settings, request, info, given, shadowed);
  if (fault !== undefined) return shadowed ? UNLIMITED : fault;
  const key = given!;
  const units = typeof cost === "number" ? cost : cost(request, info);
  return isPromise(units)
    ? units.then((units) => consume(settings, { request, info, plan, key, units, shadowed }))
    : consume(settings, { request, info, plan, key, units, shadowed });
}

/** What to answer to a key that cannot be used; `undefined` if it can. */
function keyFault(
  settings: GateSettings,
  request: unknown,
  info: unknown,
  key: Key,
  shadowed: boolean,
): Verdict | undefined {
  const { keyIsAddress, unknownAddress } = settings;
  if (key === undefined || key === null || key === "") {
    return unknownAddress === undefined && !(keyIsAddress && key === undefined)
      ? refuse(BAD_KEY)
      : unknownAddressVerdict(settings, request, info, shadowed);
  }
  // A key of another type is the fault of the option, and the limiter says so.
  if (keyIsAddress || typeof key !== "string") return undefined;
  if (key.length > LONGEST_KEY) return refuse(KEY_TOO_LONG);
  return LONE_SURROGATE.test(key) ? refuse(BAD_KEY) : undefined;
}

function unknownAddressVerdict(
  { unknownAddress, source, notice }: GateSettings,
  request: unknown,
  info: unknown,
  shadowed: boolean,
): Verdict {
  if (unknownAddress === "admit") return UNLIMITED;
  if (unknownAddress === "refuse") return refuse(UNKNOWN_ADDRESS);
  // The address is gone with the connection, and nobody would read an answer.
  if (source.signal(request, info)?.aborted) return refuse(GONE);
  const error = new TypeError(
    "Cannot limit the rate as the address of the client must be known: give `key`, `address` " +
      "or `unknownAddress`",
  );
  if (!shadowed) throw error;
  notice(error, request);
  return UNLIMITED;
}

/** Decides about a call; at once if the limiter answers at once and the call need not wait. */
function consume(settings: GateSettings, call: GateCall): MaybePromise<Verdict> {
  const { plan: { delays, limiter }, key, units, shadowed } = call;
  const internals = delays && !shadowed ? internalsOf(limiter) : undefined;
  try {
    if (internals !== undefined) {
      return waitForTurn(settings, call, internals).catch((error) => failed(settings, call, error));
    }
    const answer = limiter.consume(key, units);
    return isPromise(answer)
      ? answer.then((decision) => start(settings, call, decision))
        .then(undefined, (error) => failed(settings, call, error))
      : start(settings, call, answer);
  } catch (error) {
    return failed(settings, call, error);
  }
}

/** A store that cannot decide is not the request's fault. */
function failed(
  { notice }: GateSettings,
  { request, shadowed }: GateCall,
  error: unknown,
): Verdict {
  if (!isStoreError(error)) throw error;
  notice(error, request);
  return shadowed ? UNLIMITED : refuse(UNAVAILABLE);
}

/** Lets an admitted call wait that nobody knew would have to: its place stays its own. */
function start(
  settings: GateSettings,
  call: GateCall,
  decision: Decision,
): MaybePromise<Verdict> {
  const { request, info, key, shadowed } = call;
  settings.onDecision?.(decision, request, key);
  if (decision.delay === 0 || shadowed) return verdictOn(settings, call, decision);
  const signal = settings.source.signal(request, info);
  return sleep(undefined, decision.delay, signal).then((isHere) =>
    isHere ? verdictOn(settings, call, decision) : refuse(GONE)
  );
}

/**
 * Decides at once, as `consume` does, and if the call is admitted waits out its delay. (`acquire`
 * would wait for the admission as well, where a server must refuse.)
 *
 * A client that goes away meanwhile gives its place back if it is the newest. Any other stays
 * charged: if it were given back, the next call would get the newest one's start, which is taken.
 */
async function waitForTurn(
  settings: GateSettings,
  call: GateCall,
  { run, report, clock }: LimiterInternals,
): Promise<Verdict> {
  const { request, info, plan: { limiter: { algorithm } }, key, units } = call;
  const signal = settings.source.signal(request, info);
  if (signal?.aborted) return refuse(GONE);
  let freshAt = 0;
  const observed = withMaxDelay(algorithm, Infinity, (attempt) => freshAt = attempt.freshAt);
  const decision = await run(key, observed, units);
  const giveBack = () => run(key, refundingNewest(algorithm, freshAt), -units);
  report(decision, key, units);
  settings.onDecision?.(decision, request, key);
  const { delay } = decision;
  if (delay === 0 || await sleep(clock, delay, signal)) {
    return verdictOn(settings, call, decision, giveBack);
  }
  await giveBack();
  return refuse(GONE);
}
