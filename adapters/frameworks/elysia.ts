/**
 * Rate limiting for Elysia.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimit } from "tidegate/elysia";
 * import { Elysia } from "elysia";
 *
 * const app = new Elysia()
 *   .use(rateLimit({ limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })) }))
 *   .get("/", ({ rateLimit }) => `${rateLimit?.remaining} left`);
 * // app.listen(8080);
 * ```
 *
 * @module
 */

/*
 * A limit is a set of local hooks, so it applies where Elysia applies them: to the routes that are
 * added after it in the same instance, and in groups, guards and instances within that. `transform`
 * asks before the handler. Whatever fails earlier (there is no route, or the body cannot be parsed)
 * is asked about in `onError`.
 *
 * Elysia wraps a response again when a plugin has set a header, and on Bun a body that is wrapped
 * again loses its content type. So the fields are kept beside the request; a handler's own response
 * has them set in place at the end, and only where Elysia makes the response are they given to it.
 *
 * Elysia reads the text of hooks to see what of the context they use. They must not hand it on, nor
 * use `server`, for which Elysia would define a property on the context of each request.
 */

import type { Decision } from "../../core/decision.ts";
import { applyHeaders, type HeaderHolder } from "../http/fields/apply_headers.ts";
import { clientKeyOf } from "../http/address/client_key.ts";
import {
  fetchSource,
  finishResponse,
  isResponse,
  refusedResponse,
  releaseAtEnd,
  releaseUnread,
  releaseWhenGone,
} from "../http/servers/fetch_response.ts";
import { gate } from "../http/gate/gate.ts";
import { mayHold } from "../http/limits/limit_options.ts";
import type { HeaderField } from "../http/fields/header_writer.ts";
import { type HitContext, hitContext, type HitStoreOptions } from "./hit_stores.ts";
import type {
  ClientKeyOptions,
  Outcome,
  RateLimitOptions,
} from "../http/gate/rate_limit_options.ts";
import { GONE_STATUS } from "../http/gate/refunds.ts";

/** An app that has the plugin: the decision is on the context. */
export type WithRateLimit<App> = App & {
  "~Singleton": {
    decorator: Record<never, never>;
    store: Record<never, never>;
    derive: { readonly rateLimit: Decision | undefined };
    resolve: Record<never, never>;
  };
};

const PASSAGE = Symbol("tidegate passage");

/** The answer that Elysia is to make. It stays the same object where a hook replaces the context. */
interface ElysiaSet {
  readonly headers: Record<string, string>;
  status?: number | string;
  [PASSAGE]?: Passage;
}

/** A request on its way through its limits. */
interface Passage {
  /** The uses of the plugin that have been asked, because hooks may be merged into a route twice. */
  readonly asked: object[];
  decision: Decision | undefined;
  /** The fields of each limit, in the order of the limits. */
  readonly fields: (readonly HeaderField[])[];
  readonly settles: ((outcome: Outcome) => void)[];
  /** Release the permits, by the response that is sent. */
  releases: ((sent?: unknown) => void)[];
  /** Aborted when the client goes away. */
  signal: AbortSignal | undefined;
  /** Whether the client had gone away when the handler was done. */
  isGone: boolean;
  /** The status of the error with which it failed, which Elysia does not always set. */
  failure: number | undefined;
}

/** The part of the context that the hooks use. */
interface HookContext {
  readonly request: Request;
  readonly set: ElysiaSet;
  readonly response?: unknown;
  readonly error?: unknown;
  rateLimit?: Decision | undefined;
  /** Makes an answer that ends the request in a `transform` hook. */
  status(code: number, response: Response): unknown;
}

/** The part of the app that is used. */
interface ElysiaApp {
  readonly config?: { readonly aot?: boolean };
  getServer?(): unknown;
  onTransform(hook: (context: HookContext) => unknown): unknown;
  mapResponse(hook: (context: HookContext) => unknown): unknown;
  onError(hook: (context: HookContext) => unknown): unknown;
  onAfterResponse(hook: (context: HookContext) => void): unknown;
}

/**
 * Makes a plugin that limits the rate of the routes that are added after it, in the instance that
 * uses it and in all that it contains: the app, a group, a guard or an instance of its own. Used in
 * the app itself, it also limits requests that have no route. `app.as("scoped")` and
 * `app.as("global")` extend it to the parent, or to the whole app, as they do with any hook.
 *
 * The client's address is found on Bun; elsewhere give `key` or `address`.
 *
 * @param options Only `limiter` is required. The functions among them are given the request and
 * Bun's server.
 * @returns The plugin, for `app.use`.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function rateLimit(
  options: RateLimitOptions<Request, unknown>,
): <App>(app: App) => WithRateLimit<App> {
  const decide = gate(options, fetchSource);
  const { onRefused } = options;
  const settles = options.refund !== undefined || mayHold(options);

  return function use<App>(app: App): WithRateLimit<App> {
    const elysia = app as unknown as ElysiaApp;
    const isDynamic = elysia.config?.aot === false;
    const use = {};
    // A guard in a group gets another `getServer` afterwards, which finds no server.
    const early = Object.hasOwn(elysia, "getServer") ? elysia.getServer : undefined;

    /** Asks once per request; answers with the refusal. */
    async function ask(
      request: Request,
      set: ElysiaSet,
    ): Promise<Response | undefined> {
      const passage = passageOf(set);
      if (passage.asked.includes(use)) return undefined;
      passage.asked.push(use);
      const info = early?.() ?? elysia.getServer?.();
      const answer = decide(request, info);
      const { decision, headers, refusal, settle, release } = answer instanceof Promise
        ? await answer
        : answer;
      passage.fields.push(headers);
      if (decision !== undefined) passage.decision = decision;
      if (refusal !== undefined) {
        const response = await refusedResponse(onRefused, refusal, [], request, info);
        return finishOwn(response, set.headers, passage.fields);
      }
      if (settle ?? release) {
        if (settle !== undefined) passage.settles.push(settle);
        if (release !== undefined) passage.releases.push(release);
        releaseWhenGone(request, release);
        // Some servers never abort a signal whose first reader comes after the client has gone
        // away.
        passage.signal = request.signal;
      }
      return undefined;
    }

    async function limitRate(context: HookContext): Promise<unknown> {
      const { request, set } = context;
      const refused = await ask(request, set);
      context.rateLimit = set[PASSAGE]!.decision;
      if (refused === undefined) return undefined;
      return context.status(refused.status, refused);
    }

    /**
     * For apps without code made ahead: Elysia maps no handler's answers there, so the fields must
     * be set before, and it puts the answer on the context, which shows when the handler is done.
     */
    async function limitAhead(context: HookContext): Promise<unknown> {
      const refused = await limitRate(context);
      if (refused !== undefined) return refused;
      const passage = context.set[PASSAGE]!;
      setAll(context.set.headers, passage.fields);
      if (settles) noteAnswer(context, passage);
      return undefined;
    }

    async function limitError(context: HookContext): Promise<Response | undefined> {
      const { request, set, error } = context;
      try {
        const refused = await ask(request, set);
        if (refused !== undefined) return refused;
      } catch (error) {
        // Elysia does not catch what such a hook throws.
        return new Response(error instanceof Error ? error.message : "", { status: 500 });
      }
      noteGone(set);
      const passage = set[PASSAGE]!;
      passage.failure = (error as { readonly status?: number } | undefined)?.status ?? 500;
      setAll(set.headers, passage.fields);
      if (settles) settleLater(set, Object.hasOwn(elysia, "getServer") || isDynamic);
      return undefined;
    }

    elysia.onTransform(isDynamic ? limitAhead : limitRate);
    elysia.mapResponse(setInResponse);
    elysia.onError(limitError);
    if (settles) elysia.onAfterResponse(({ set, response }) => settleAll(set, response));
    return app as WithRateLimit<App>;
  };
}

function passageOf(set: ElysiaSet): Passage {
  return set[PASSAGE] ??= {
    asked: [],
    decision: undefined,
    fields: [],
    settles: [],
    releases: [],
    signal: undefined,
    isGone: false,
    failure: undefined,
  };
}

function noteGone({ [PASSAGE]: passage }: ElysiaSet): void {
  if (passage !== undefined) passage.isGone = passage.signal?.aborted === true;
}

/**
 * Sees when a handler of an app without code made ahead has answered. A hook of its own,
 * `onAfterHandle`, would change how Elysia maps a status.
 */
function noteAnswer(context: { response?: unknown }, passage: Passage): void {
  let answer = context.response;
  Object.defineProperty(context, "response", {
    configurable: true,
    enumerable: true,
    get: () => answer,
    set(response) {
      passage.isGone = passage.signal?.aborted === true;
      answer = response;
    },
  });
}

/** Sets the fields: of a handler's own response in place, otherwise of the one to be made. */
function setInResponse(context: HookContext): Response | undefined {
  const { request, response, set } = context;
  const passage = set[PASSAGE];
  if (passage === undefined) return undefined;
  noteGone(set);
  // A response that never changes stands as a function that copies it.
  const own = typeof response === "function" ? response() : response;
  if (!isResponse(own)) {
    setAll(set.headers, passage.fields);
    return undefined;
  }
  const finished = finishOwn(own, set.headers, passage.fields);
  const { releases } = passage;
  if (releases.length === 0 || own !== response) return finished;
  const release = () => releases.forEach((release) => release());
  const flowing = releaseAtEnd(finished, request, release);
  // Another hook may answer in place of this response.
  passage.releases = [(sent) => sent !== flowing && releaseUnread(flowing, release)];
  return flowing;
}

/**
 * Sets the fields on a response of its own. Elysia leaves out what it was to set if the response
 * has such a field; so what stands there of the same names, such as another plugin's exposed
 * headers, is put on the response first.
 */
function finishOwn(
  response: Response,
  headers: Record<string, string>,
  limits: readonly (readonly HeaderField[])[],
): Response {
  const names = new Set(limits.flat().map(([name]) => lowered(name)));
  const standing: HeaderField[] = [];
  for (const name of names) {
    const value = headers[name];
    if (value === undefined) continue;
    delete headers[name];
    if (!response.headers.has(name)) standing.push([name, value]);
  }
  return [standing, ...limits].reduce(finishResponse, response);
}

/** Sets the fields by the names that Elysia has them under, which are in lower case. */
function setAll(
  headers: Record<string, string>,
  limits: readonly (readonly HeaderField[])[],
): void {
  const holder: HeaderHolder = {
    get: (name) => headers[lowered(name)],
    set: (name, value) => headers[lowered(name)] = value,
  };
  for (const fields of limits) applyHeaders(holder, fields);
}

/** The fields' names in lower case: made once, because a new string is slow to look a property up by. */
const LOWERED = new Map<string, string>();

function lowered(name: string): string {
  let known = LOWERED.get(name);
  if (known === undefined) LOWERED.set(name, known = name.toLowerCase());
  return known;
}

/** How long a failed request of an app waits for Elysia to report its end, in milliseconds. */
const REPORTED_WITHIN = 1_000;

/**
 * Ends the verdicts about a failed request if Elysia does not report its end. The app answers for a
 * route that has failed, and calls no hook of a group or an instance within it again.
 */
function settleLater(set: ElysiaSet, isUnreported: boolean): void {
  const timer = setTimeout(settleAll, isUnreported ? 0 : REPORTED_WITHIN, set, undefined);
  (timer as { unref?(): void }).unref?.();
}

/** Elysia gives an error's status to a response that has none of its own, or 200. */
function statusOf({ status = 200 }: ElysiaSet, { failure }: Passage): number {
  return failure !== undefined && status === 200 ? failure : Number(status);
}

/** Ends the verdicts about a request; those that have ended stay as they are. */
function settleAll(set: ElysiaSet, response: unknown): void {
  const passage = set[PASSAGE];
  if (passage === undefined) return;
  const own = isResponse(response) ? response : undefined;
  const status = passage.isGone ? GONE_STATUS : own?.status ?? statusOf(set, passage);
  for (const settle of passage.settles) settle({ status, response: own });
  for (const release of passage.releases) release(response);
}

/**
 * Makes the default `key` function, on which a key of your own can build.
 *
 * @param options The proxies to trust about addresses, as in `rateLimit`.
 * @returns A function that returns the key of a client's address, or `undefined` if the address is
 *   unknown.
 */
export function clientKey(
  options: ClientKeyOptions<Request, unknown> = {},
): (request: Request, server: unknown) => string | undefined {
  return clientKeyOf(options, fetchSource);
}

/**
 * A context for elysia-rate-limit, so that its counts are shared by threads or machines.
 *
 * @param options Where to count.
 * @returns The option `context` of elysia-rate-limit.
 * @throws {TypeError} If there is a store without a prefix.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { elysiaRateLimitContext } from "tidegate/elysia";
 * import { rateLimit } from "elysia-rate-limit";
 *
 * const store = memoryStore(); // or that of tidegate/shared, or of tidegate/redis
 * const plugin = rateLimit({
 *   duration: 60_000,
 *   max: 100,
 *   context: elysiaRateLimitContext({ store, prefix: "web" }),
 * });
 * // app.use(plugin);
 * ```
 */
export const elysiaRateLimitContext: (options?: HitStoreOptions) => HitContext = hitContext;

export type { HitContext, HitStoreOptions } from "./hit_stores.ts";
