/*
 * The options that all HTTP adapters share, with their checks, so that an option means the same in
 * every framework.
 */

import type { Clock } from "../../../core/clock.ts";
import type { Decision } from "../../../core/decision.ts";
import {
  checkFunction,
  checkMilliseconds,
  oneOf,
  type OptionCheck,
  type OptionNames,
  typeError,
} from "../../../core/options/checks.ts";
import { type Period, readLongestWait } from "../../../core/options/period.ts";
import type { ForwardingOptions } from "../address/client_address.ts";
import type { HeaderWriterOptions } from "../fields/header_writer.ts";
import {
  type Awaitable,
  type GivenLimit,
  LIMIT_OPTIONS,
  type LimitByNumbers,
  type LimitCallOptions,
  type LimitChoice,
  type SeveralLimits,
  type Without,
} from "../limits/limit_options.ts";
import type { Refusal } from "./refusal.ts";
import type { RequestRules } from "./request_rules.ts";

export type { AnyLimiter, Awaitable } from "../limits/limit_options.ts";

/** The outcome of a request, as far as a refund depends on it. */
export interface Outcome {
  /**
   * The status of the response; 500 if the handler threw; 499 if the client went away before there
   * was a response, whatever the handler did then. Fetch-style servers report that by the request's
   * signal.
   */
  readonly status: number;
  /** The error that the handler threw. */
  readonly error?: unknown;
  /**
   * The response, on fetch-style servers; with Elysia, only a response that the handler made
   * itself. Its body must not be read, because it is sent to the client.
   */
  readonly response?: Response | undefined;
}

/** How clients are distinguished by their addresses. */
export interface ClientKeyOptions<Request, Info = undefined> extends ForwardingOptions {
  /**
   * Finds the address that the request came from, if the adapter cannot find it in its own way.
   * `undefined` or `null` if it is not known.
   */
  readonly address?: ((request: Request, info: Info) => string | null | undefined) | undefined;
  /** Bits of an IPv6 address that make one client, 32 to 128; default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/** Rules for requests, in place of limits. */
export interface LimitByRules<Request, Info = undefined> extends
  Without<
    | keyof LimitCallOptions<unknown>
    | keyof LimitByNumbers
    | "limiter"
    | "limits"
    | "maxDelay"
    | "policy"
  > {
  /**
   * Rules, as `requestRules` of `tidegate/rules` makes them of a file, an object or a source. Their
   * routes say which limits a request has.
   */
  readonly rules: RequestRules;
  /**
   * For `rules`: further descriptors of a request, in addition to the routes' descriptors, as maps
   * of key to value, such as `[{ user: "ann" }]` for a user that the application knows.
   */
  readonly descriptors?:
    | ((
      request: Request,
      info: Info,
    ) => Awaitable<readonly Readonly<Record<string, string>>[]>)
    | undefined;
}

/** Limits of a request, in place of rules. */
export type LimitByChoice<Request, Info = undefined> =
  & LimitCallOptions<Request, Info>
  & LimitChoice<Request, Info>
  & { readonly rules?: undefined; readonly descriptors?: undefined }
  & DelayOptions;

/** How long requests may wait. */
export interface DelayOptions {
  /**
   * The longest time that a request waits for its start if a limiter of `leakyQueue` delays it:
   * milliseconds of at least 0, or text such as `"1s"`; default `Infinity`, so that the queue is
   * the bound. A request that would start later is refused and takes no place; `Retry-After` says
   * when it would find a place in time.
   */
  readonly maxDelay?: Period | undefined;
}

/**
 * The options of `rateLimit`, which mean the same in every adapter. Only a limit is required: its
 * numbers (`limit` and `period`), a `limiter`, a `policy`, several `limits`, or `rules`. Each of
 * these excludes the others.
 *
 * @typeParam Request The framework's type of a request, or of its context.
 * @typeParam Info The type of the second argument that comes with a request.
 */
export type RateLimitOptions<Request, Info = undefined> =
  & GateSettings<Request, Info>
  & (LimitByChoice<Request, Info> | LimitByRules<Request, Info>);

/** The options of `rateLimit` beside its limits. */
export interface GateSettings<Request, Info = undefined>
  extends ClientKeyOptions<Request, Info>, HeaderWriterOptions {
  /**
   * The treatment of a request whose address is not known: `"refuse"` it with a 403, or `"admit"`
   * it without a limit. Without this option it is an error: such requests must not share one limit
   * by accident.
   */
  readonly unknownAddress?: "refuse" | "admit" | undefined;
  /**
   * The treatment of a request for which `key` finds no key: `"refuse"` (default) answers with a
   * 400, `"admit"` lets it pass without a limit.
   */
  readonly missingKey?: "refuse" | "admit" | undefined;
  /**
   * Says that requests which pass the same limit twice, with one key, are meant to pay twice.
   * Default `false`: a warning is logged once.
   */
  readonly countsTwice?: boolean | undefined;
  /** Which requests pass without a limit. */
  readonly skip?: ((request: Request, info: Info) => Awaitable<boolean>) | undefined;
  /** Names the fields in `Access-Control-Expose-Headers`, for scripts of other origins. */
  readonly exposeHeaders?: boolean | undefined;
  /**
   * Distinguishes a client's quota from other clients' quotas in the fields (`pk`): a public name
   * or a keyed hash, neither an address nor a secret. If it fails, the fields are sent without it.
   */
  readonly partition?: ((request: Request, info: Info) => string) | undefined;
  /**
   * Which admitted requests get their units back at the end: `"failed"` ones (status 400 and above,
   * so that only successes count against the limit), `"successful"` ones, or requests for which a
   * function answers `true`, at once or later. With `"failed"` and `"successful"`, nothing is given
   * back to a client that went away before there was a response. Nothing is given back if the
   * function fails, or if the units have already expired when the request ends.
   */
  readonly refund?:
    | "failed"
    | "successful"
    | ((outcome: Outcome, request: Request, info: Info) => Awaitable<boolean>)
    | undefined;
  /**
   * Decides and reports, but does not refuse, delay or add fields, whatever the key and even if the
   * store fails. Use it to try a limit out. Default `false`; a function that fails counts as
   * `false`.
   */
  readonly shadow?: boolean | ((request: Request, info: Info) => boolean) | undefined;
  /**
   * The most milliseconds that are added to `Retry-After`, at random, so that clients refused
   * together do not come back together; at least 0; default 0.
   */
  readonly jitter?: number | undefined;
  /**
   * Changes the answer to a refused client, at once or later. If it fails, returns something that
   * cannot be sent, or takes longer than a second, the refusal stays unchanged.
   */
  readonly respond?:
    | ((
      refusal: Refusal,
      decision: Decision,
      request: Request,
      info: Info,
    ) => Awaitable<Partial<Refusal>>)
    | undefined;
  /**
   * Called by the adapter in place of the usual answer to a refused client, when the header fields
   * are set. It may answer by returning a `Response`, or on Node's servers by sending one. An error
   * that it throws or rejects with goes to the framework's error handling, such as `next(error)` of
   * Express or `setErrorHandler` of Fastify. If it does none of this, the usual answer is sent.
   */
  readonly onRefused?:
    | ((refusal: Refusal, request: Request, info: Info) => unknown)
    | undefined;
  /**
   * Called with every decision, in shadow mode, too. With several limits it is called once, with
   * the decision of all together and the key of the first limit that refuses, otherwise of the
   * first limit. It may be asynchronous, but is not awaited.
   */
  readonly onDecision?: ((decision: Decision, request: Request, key: string) => void) | undefined;
  /**
   * Called when the store could not decide (`StoreUnavailableError`, `ContentionError` or
   * `StoreFullError`): the client is answered with a 503, or let through in shadow mode. Also
   * called with the error of an unknown address in shadow mode, and with errors that `onDecision`,
   * `partition`, `refund`, `respond` and `shadow` throw or reject with. Without it the first of
   * these failures is printed. No such failure changes a verdict.
   */
  readonly onFailure?: ((error: unknown, request: Request) => void) | undefined;
  /** A number from 0 up to 1 for the jitter; default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /**
   * The time for header fields (`"legacy"`, `calendarWindow`), and for limits that the adapter makes
   * itself. Default is the limiter's clock, or the store's own time.
   */
  readonly clock?: Clock | undefined;
}

/** The options of addresses: `clientKeyReader` checks them. */
export const CLIENT_KEY_OPTIONS: OptionNames<ClientKeyOptions<unknown, unknown>> = {
  address: true,
  ipv6Prefix: true,
  trustedProxies: true,
  forwardedHeader: true,
};

/** The options of `rateLimit`, whatever its requests are. */
export type GateOptions = RateLimitOptions<unknown, unknown>;

/** Every option, whatever it excludes. */
type AllOptions =
  & GateSettings<unknown, unknown>
  & Pick<LimitByRules<unknown, unknown>, "rules" | "descriptors">
  & DelayOptions
  & GivenLimit
  & Pick<SeveralLimits<unknown, unknown>, "limits">;

/** The options of a gate, with the checks of those that are checked nowhere else. */
export const GATE_OPTIONS: OptionNames<AllOptions> = {
  ...CLIENT_KEY_OPTIONS,
  ...LIMIT_OPTIONS,
  limits: true,
  rules: true,
  descriptors: checkFunction,
  unknownAddress: oneOf("refuse", "admit"),
  missingKey: oneOf("refuse", "admit"),
  countsTwice: ofType("a boolean", "boolean"),
  skip: checkFunction,
  headers: true,
  unit: oneOf("requests", "content-bytes", "concurrent-requests"),
  exposeHeaders: ofType("a boolean", "boolean"),
  partition: checkFunction,
  refund(action, option, value) {
    if (value === "failed" || value === "successful" || typeof value === "function") return;
    throw typeError(action, `${option} must be "failed" or "successful" or a function`, value);
  },
  shadow: ofType("a boolean or a function", "boolean", "function"),
  maxDelay: (action, option, time) => void readLongestWait(action, option, time as Period),
  jitter: checkMilliseconds,
  respond: checkFunction,
  onRefused: checkFunction,
  onDecision: checkFunction,
  onFailure: checkFunction,
  random: checkFunction,
};

function ofType(what: string, ...types: readonly string[]): OptionCheck {
  return (action, option, value) => {
    if (!types.includes(typeof value)) throw typeError(action, `${option} must be ${what}`, value);
  };
}
