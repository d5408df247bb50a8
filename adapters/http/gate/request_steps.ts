/*
 * What the gate asks of a request before it decides: skip, limiter, key and cost, in this order.
 *
 * Each step calls an option's function, which may answer by a promise, and goes on with its answer.
 * One comes after the other: if two ran at once and both failed, nobody would handle the second
 * failure, and it would end the process.
 */
import { isPromise } from "../../../core/maybe_promise.ts";
import { chain } from "../chain.ts";
import { consumeCall } from "./consume_call.ts";
import type { GateSettings } from "./gate_settings.ts";
import type { LimitPlan } from "./limit_plan.ts";
import { BAD_KEY, GONE, KEY_TOO_LONG, UNKNOWN_ADDRESS } from "./refusal.ts";
import { refuse, UNLIMITED, type Verdict } from "./verdict.ts";

type Key = string | null | undefined;

/** Clients often choose their keys themselves, and a store keeps many. */
const LONGEST_KEY = 1_024;
/** Stores keep text, and half a character is not text. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Decides about a request; at once if the options and the limiter answer at once. */
export function decideRequest<Request, Info>(
  settings: GateSettings<Request, Info>,
  request: Request,
  info: Info,
): Verdict | Promise<Verdict> {
  const { skip } = settings;
  if (skip === undefined) return chooseLimiter(settings, request, info);
  const skipped = skip(request, info);
  if (!isPromise(skipped)) return skipped ? UNLIMITED : chooseLimiter(settings, request, info);
  return chain(skipped, (skipped) => skipped ? UNLIMITED : chooseLimiter(settings, request, info));
}

function chooseLimiter<Request, Info>(
  settings: GateSettings<Request, Info>,
  request: Request,
  info: Info,
): Verdict | Promise<Verdict> {
  const { choose } = settings;
  if (choose === undefined) return findKey(settings, request, info, settings.plan!);
  return chain(
    choose(request, info),
    (limiter) =>
      limiter === undefined
        ? UNLIMITED
        : findKey(settings, request, info, settings.planOf(limiter)),
  );
}

function findKey<Request, Info>(
  settings: GateSettings<Request, Info>,
  request: Request,
  info: Info,
  plan: LimitPlan,
): Verdict | Promise<Verdict> {
  const { keyOf } = settings;
  const key = keyOf(request, info);
  if (!isPromise(key)) return findCost(settings, request, info, plan, key);
  return chain(key, (key) => findCost(settings, request, info, plan, key));
}

function findCost<Request, Info>(
  settings: GateSettings<Request, Info>,
  request: Request,
  info: Info,
  plan: LimitPlan,
  given: Key,
): Verdict | Promise<Verdict> {
  const { cost, isShadowed } = settings;
  // A promise is not the answer `true`, and nobody is let through for one.
  const shadowed = isShadowed(request, info) === true;
  const fault = keyFault(settings, request, info, given, shadowed);
  if (fault !== undefined) return shadowed ? UNLIMITED : fault;
  const key = given!;
  if (typeof cost === "number") {
    return consumeCall(settings, { request, info, plan, key, units: cost, shadowed });
  }
  const units = cost(request, info);
  if (!isPromise(units)) {
    return consumeCall(settings, { request, info, plan, key, units, shadowed });
  }
  return chain(
    units,
    (units) => consumeCall(settings, { request, info, plan, key, units, shadowed }),
  );
}

/** What to answer to a key that cannot be used; `undefined` if it can. */
function keyFault<Request, Info>(
  settings: GateSettings<Request, Info>,
  request: Request,
  info: Info,
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

function unknownAddressVerdict<Request, Info>(
  { unknownAddress, source, notice }: GateSettings<Request, Info>,
  request: Request,
  info: Info,
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
