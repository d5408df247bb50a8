/*
 * The engine of every inbound adapter: from a request to a verdict.
 *
 *   request -> skip? -> what to charge -> decision -> { headers, refusal, settle }
 *
 * The adapters differ only in how they read a request and how they write the verdict. All checks,
 * and all work that does not depend on the request, are done when the gate is made. If the limiter
 * and the options answer at once, the verdict is a value, and no promise is made.
 *
 * Keys come from clients, so nothing that they send is an error: a key that is missing, empty or
 * not text is answered with a 400. If `limiter`, `key`, `cost` or `skip` throws, nothing was
 * decided, and the adapter passes the error on. A store that cannot decide is a 503. If another
 * function of the options fails, the verdict stays the same.
 */
import { failureReport, guarded } from "../../../core/guarded.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { checkOptions, typeError } from "../../../core/options/checks.ts";
import { clientKeyReader, type RequestSource } from "../address/client_key.ts";
import { checkNumbers } from "../limits/check_numbers.ts";
import { rulesDecider } from "../limits/rules_decider.ts";
import { requestLimits } from "../limits/request_limits.ts";
import { answerInTime } from "./answer_in_time.ts";
import { twiceNotice } from "./counted_twice.ts";
import type { AnyDecider, Asked } from "./decider.ts";
import {
  type Awaitable,
  GATE_OPTIONS,
  type GateOptions,
  type RateLimitOptions,
} from "./rate_limit_options.ts";
import { callStarter } from "./call_starter.ts";
import { type GateVerdict, refuse, UNLIMITED } from "./gate_verdict.ts";

export type { GateVerdict } from "./gate_verdict.ts";

/** Decides about requests; at once if the limiter and the options answer at once. */
export type Gate<Request, Info = undefined> = (
  request: Request,
  info: Info,
) => GateVerdict | Promise<GateVerdict>;

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
 *   { limiter: limiter(gcra({ limit: 1, period: "1m", burst: 1 })) },
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
  return gateOf(
    options as GateOptions,
    source as RequestSource<unknown, unknown>,
  );
}

const ACTION = "create rateLimit";

function gateOf(
  options: GateOptions,
  source: RequestSource<unknown, unknown>,
): Gate<unknown, unknown> {
  checkNumbers(ACTION, options ?? {});
  checkOptions<GateOptions>(ACTION, options, GATE_OPTIONS);
  const { skip, shadow = false } = options;
  checkAddress(options);
  const report = failureReport(options.onFailure);
  // A failure that already leads to an error response is not printed.
  const notice = options.onFailure === undefined ? () => {} : report;
  const isShadowed = typeof shadow === "function" ? guarded(shadow, report) : () => shadow;
  const decider = deciderOf(options, source, notice);
  const twice = twiceNotice(options.countsTwice === true);
  const start = callStarter(decider, options, source, report, notice);

  function limit(request: unknown, info: unknown): Awaitable<GateVerdict> {
    // A promise is not `true`, so it lets no request through.
    const shadowed = isShadowed(request, info) === true;
    const call = decider.ask(request, info, shadowed);
    return isPromise(call) ? Promise.resolve(call).then(begin) : begin(call);
  }

  function begin(call: Asked | undefined): Awaitable<GateVerdict> {
    if (call === undefined) return UNLIMITED;
    if (call.refusal === undefined) {
      if (twice.looks > 0) twice.look(call.request, call.calls);
      return start(call);
    }
    return call.shadowed ? UNLIMITED : refuse(call.refusal);
  }

  return function decide(request, info) {
    if (skip === undefined) return limit(request, info);
    const skipped = skip(request, info);
    if (isPromise(skipped)) {
      return answerInTime("skip", skipped)
        .then((skipped) => skipped ? UNLIMITED : limit(request, info));
    }
    return skipped ? UNLIMITED : limit(request, info);
  };
}

function deciderOf(
  options: GateOptions,
  source: RequestSource<unknown, unknown>,
  notice: (error: unknown, request: unknown) => void,
): AnyDecider {
  if (options.rules !== undefined) return rulesDecider(ACTION, options, source, notice);
  const clientKey = clientKeyReader(options, source);
  return requestLimits(ACTION, options, { clientKey, signal: source.signal }, notice);
}

/**
 * Requires a way to tell clients apart where the runtime knows no addresses: otherwise every
 * request would be an error.
 */
function checkAddress({ key, address, unknownAddress, limits }: GateOptions): void {
  const given = key ?? address ?? unknownAddress;
  const { userAgent } = (globalThis as { readonly navigator?: { readonly userAgent?: string } })
    .navigator ?? {};
  if (given !== undefined || userAgent !== "Cloudflare-Workers") return;
  if (limits?.every((limit) => limit?.key !== undefined)) return;
  const rule = "Workers know no address of their own: it needs key, or address, such as " +
    '(request) => request.headers.get("cf-connecting-ip")';
  throw typeError(ACTION, rule, address);
}
