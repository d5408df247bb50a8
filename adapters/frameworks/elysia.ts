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
 * Elysia wraps a response again when a plugin has set a header, and on Bun a body that is wrapped
 * again loses its content type. So the fields are kept on the context; a handler's own response has
 * them set in place at the end, and only where Elysia makes the response are they given to it.
 *
 * Elysia reads the text of hooks to see what of the context they use. They must not hand it on.
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

const FIELDS = Symbol("tidegate fields");
const SETTLE = Symbol("tidegate settle");
const RELEASE = Symbol("tidegate release");
const SIGNAL = Symbol("tidegate signal");
const GONE = Symbol("tidegate gone");

/** The part of the context that the hooks use. */
interface HookContext {
  readonly request: Request;
  server: unknown;
  readonly set: { readonly headers: Record<string, string>; status?: number | string };
  readonly response?: unknown;
  rateLimit?: Decision;
  /** The fields of each limit, in the order of the limits. */
  [FIELDS]?: readonly (readonly HeaderField[])[];
  [SETTLE]?: readonly ((outcome: Outcome) => void)[];
  /** Release the permits of each limit; `undefined` where the body of the response does it at its end. */
  [RELEASE]?: readonly (() => void)[] | undefined;
  /** Aborted when the client goes away. */
  [SIGNAL]?: AbortSignal | undefined;
  /** Whether the client had gone away when the handler was done. */
  [GONE]?: boolean;
}

/** The part of the app that is used. */
interface ElysiaApp {
  readonly config?: { readonly aot?: boolean };
  readonly server?: unknown;
  onRequest(hook: (context: HookContext) => Promise<unknown>): unknown;
  mapResponse(scope: { as: "global" }, hook: (context: HookContext) => unknown): unknown;
  onError(scope: { as: "global" }, hook: (context: HookContext) => void): unknown;
  onAfterResponse(scope: { as: "global" }, hook: (context: HookContext) => void): unknown;
}

/**
 * Makes a plugin that limits the rate of the whole app.
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

  async function limitRate(context: HookContext): Promise<Response | undefined> {
    const { request, server, set } = context;
    try {
      const answer = decide(request, server);
      const { decision, headers, refusal, settle, release } = answer instanceof Promise
        ? await answer
        : answer;
      const before = context[FIELDS];
      const fields = context[FIELDS] = before === undefined ? [headers] : [...before, headers];
      if (decision !== undefined) context.rateLimit = decision;
      if (refusal !== undefined) {
        // Elysia calls no other hook for what is answered here.
        for (const settle of context[SETTLE] ?? []) settle({ status: refusal.status });
        for (const release of context[RELEASE] ?? []) release();
        const response = await refusedResponse(onRefused, refusal, [], request, server);
        return finishOwn(response, set.headers, fields);
      }
      if (settle ?? release) {
        if (settle !== undefined) context[SETTLE] = [...context[SETTLE] ?? [], settle];
        if (release !== undefined) context[RELEASE] = [...context[RELEASE] ?? [], release];
        releaseWhenGone(request, release);
        // Some servers never abort a signal whose first reader comes after the client has gone
        // away.
        context[SIGNAL] = request.signal;
      }
    } catch (error) {
      // Elysia would answer with the status at hand, which is 200.
      set.status = 500;
      throw error;
    }
  }

  /**
   * For apps without code made ahead, of which Elysia maps no handler's answers: the fields must
   * stand there before. Nor is the server on their context.
   */
  async function limitAhead(context: HookContext, app: ElysiaApp): Promise<Response | undefined> {
    context.server ??= app.server;
    const refused = await limitRate(context);
    if (refused !== undefined) return refused;
    setAll(context.set.headers, context[FIELDS] ?? []);
    if (settles) noteAnswer(context);
    return undefined;
  }

  return function use<App>(app: App): WithRateLimit<App> {
    const elysia = app as unknown as ElysiaApp;
    const isDynamic = elysia.config?.aot === false;
    elysia.onRequest(isDynamic ? (context) => limitAhead(context, elysia) : limitRate);
    elysia.mapResponse({ as: "global" }, setInResponse);
    elysia.onError({ as: "global" }, setInError);
    if (settles) elysia.onAfterResponse({ as: "global" }, settleAll);
    return app as WithRateLimit<App>;
  };
}

/**
 * Sees when a handler of an app without code made ahead has answered: Elysia puts the answer on the
 * context then. A hook of its own, `onAfterHandle`, would change how it maps a status.
 */
function noteAnswer(context: { response?: unknown; [SIGNAL]?: AbortSignal; [GONE]?: boolean }) {
  let answer = context.response;
  Object.defineProperty(context, "response", {
    configurable: true,
    enumerable: true,
    get: () => answer,
    set(response) {
      context[GONE] = context[SIGNAL]?.aborted === true;
      answer = response;
    },
  });
}

/** Sets the fields: of a handler's own response in place, otherwise of the one to be made. */
function setInResponse(context: HookContext): Response | undefined {
  const limits = context[FIELDS] ?? [];
  const { response, set } = context;
  context[GONE] = context[SIGNAL]?.aborted === true;
  // A response that never changes stands as a function that copies it.
  const own = typeof response === "function" ? response() : response;
  if (!isResponse(own)) {
    setAll(set.headers, limits);
    return undefined;
  }
  const finished = finishOwn(own, set.headers, limits);
  const releases = context[RELEASE];
  if (releases === undefined || own !== response) return finished;
  context[RELEASE] = undefined;
  return releaseAtEnd(finished, context.request, () => releases.forEach((release) => release()));
}

function setInError(context: HookContext): void {
  const { set } = context;
  context[GONE] = context[SIGNAL]?.aborted === true;
  setAll(set.headers, context[FIELDS] ?? []);
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

function settleAll(context: HookContext): void {
  const { response, set } = context;
  const own = isResponse(response) ? response : undefined;
  const status = context[GONE] ? GONE_STATUS : own?.status ?? Number(set.status ?? 200);
  for (const settle of context[SETTLE] ?? []) settle({ status, response: own });
  for (const release of context[RELEASE] ?? []) release();
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
