/**
 * Rate limiting for NestJS, on Express or Fastify: a guard, and a storage for @nestjs/throttler.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimitGuard } from "tidegate/nestjs";
 * import { UseGuards } from "@nestjs/common";
 *
 * const login = limiter(gcra({ limit: 5, period: "1m", burst: 5 }));
 * export const LimitLogin = () => UseGuards(rateLimitGuard({ limiter: login }));
 *
 * // @Controller("login")
 * // class LoginController {
 * //   @Post() @LimitLogin() login() {}
 * // }
 * // or for all routes: app.useGlobalGuards(rateLimitGuard({ limiter: login }));
 * ```
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import { applyHeaders } from "../http/fields/apply_headers.ts";
import { typeError } from "../../core/options/checks.ts";
import type { RequestSource } from "../http/address/client_key.ts";
import { gate } from "../http/gate/gate.ts";
import type { RateLimitOptions } from "../http/gate/rate_limit_options.ts";
import {
  closingOf,
  ignoresCaseInFastify,
  nodeHeader,
  nodeReplies,
  nodeTarget,
  whenClosed,
  whenEnded,
} from "../http/servers/node_response.ts";
import { loadPackage } from "../optional_packages/load_package.ts";
import type { Refusal } from "../http/gate/refusal.ts";
import { type HitStoreOptions, hitWindows } from "./hit_stores.ts";

/** The part of Nest's execution context that is needed. */
export interface NestContext {
  /** The kind of context: `"http"`, `"graphql"`, `"ws"`, `"rpc"` or another. */
  getType?(): string;
  /** An argument of the handler. */
  getArgByIndex?(index: number): unknown;
  /** The request and the response of the platform. */
  switchToHttp(): { getRequest(): unknown; getResponse(): unknown };
}

/** A guard of Nest. */
export interface NestGuard {
  /**
   * Whether a request may go on. It refuses by throwing an error with the status and the body of
   * the refusal.
   */
  canActivate(context: NestContext): Promise<boolean>;
}

/** The part of a request of Express or Fastify that is needed. */
export interface NestRequest {
  /** The client's address, by the platform's own setting of trusted proxies. */
  readonly ip?: string | undefined;
  /** The header fields. */
  readonly headers: IncomingMessage["headers"];
  /** The socket of the client. */
  readonly socket: IncomingMessage["socket"];
  /** The decision about the request. */
  rateLimit?: unknown;
}

/**
 * Makes a guard that limits the rate. It stores the decision in the request's `rateLimit`.
 *
 * A refused request fails with an `HttpException` that holds the refusal's status and body, for
 * Nest's exception filters; its header fields are set.
 *
 * In GraphQL it limits the HTTP request that the context of Apollo or Mercurius has (`req`, or
 * `reply.request`), once for each request, however many resolvers it guards. A message of a WebSocket
 * or a microservice has neither an address nor header fields: `key`, `skip` and the other functions
 * get Nest's `ExecutionContext` in place of a request, and without `key` the guard throws an error
 * before it charges. Permits of such a message end with their `ttl`, so give `concurrency` only to
 * HTTP requests.
 *
 * @param options Only `limiter` is required. Its functions receive the request and the response of
 * node:http.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function rateLimitGuard<Request extends NestRequest = NestRequest>(
  options: RateLimitOptions<Request, ServerResponse>,
): NestGuard {
  const decide = gate(options, source);
  const decideMessage = gate(options as RateLimitOptions<unknown, undefined>, messageSource);
  const isKeyed = options.key !== undefined ||
    options.limits?.every(({ key }) => key !== undefined) === true;
  /** The verdicts about requests of GraphQL, whose resolvers share one. */
  const shared = new WeakMap<object, Promise<boolean>>();

  async function limitRequest({ request, response }: HttpExchange): Promise<boolean> {
    const verdict = await decide(request as Request, response);
    const { decision, headers, refusal, settle, release } = verdict;
    if (release !== undefined) whenClosed(response, release);
    if (settle !== undefined) whenEnded(response, (status) => settle({ status }));
    if (decision !== undefined) request.rateLimit = decision;
    // Another handler answered while the request waited for its verdict. Nest then runs no handler,
    // and writes nothing to an answer that has been sent.
    if (nodeReplies.isAnswered(response)) return false;
    // Fastify keeps its own header fields in addition to the fields of node:http.
    applyHeaders(nodeReplies.fields(response), headers);
    if (refusal === undefined) return true;
    await options.onRefused?.(refusal, request as Request, response);
    throw await exceptionOf(refusal);
  }

  async function limitMessage(context: NestContext): Promise<boolean> {
    if (!isKeyed) {
      const rule =
        "a message has no address: give key, which gets the ExecutionContext, or skip it";
      throw typeError("limit a message", rule, context.getType?.());
    }
    const { refusal } = await decideMessage(context, undefined);
    if (refusal === undefined) return true;
    await options.onRefused?.(refusal, context as unknown as Request, undefined as never);
    throw await exceptionOf(refusal);
  }

  return {
    async canActivate(context) {
      const type = context.getType?.() ?? "http";
      if (type === "http") return await limitRequest(exchangeOf(context.switchToHttp()));
      const exchange = graphqlExchange(context);
      if (exchange === undefined) return await limitMessage(context);
      let limited = shared.get(exchange.request);
      if (limited === undefined) {
        shared.set(exchange.request, limited = limitRequest(exchange));
      }
      return await limited;
    },
  };
}

/** A request of the platform, and the response of node:http. */
interface HttpExchange {
  readonly request: NestRequest;
  readonly response: ServerResponse;
}

type Platform = ServerResponse & { readonly raw?: ServerResponse };

function exchangeOf(http: ReturnType<NestContext["switchToHttp"]>): HttpExchange {
  const platform = http.getResponse() as Platform;
  return { request: http.getRequest() as NestRequest, response: platform.raw ?? platform };
}

/** The HTTP request of a resolver: Apollo's context has `req` and `res`, that of Mercurius `reply`. */
function graphqlExchange(context: NestContext): HttpExchange | undefined {
  if (context.getType?.() !== "graphql") return undefined;
  const { req, res, reply } = (context.getArgByIndex?.(2) ?? {}) as {
    readonly req?: NestRequest & { readonly res?: ServerResponse };
    readonly res?: Platform;
    readonly reply?: { readonly request: NestRequest; readonly raw: ServerResponse };
  };
  const request = req ?? reply?.request;
  const response = res?.raw ?? res ?? reply?.raw ?? req?.res;
  return request?.headers === undefined || response === undefined
    ? undefined
    : { request, response };
}

/** A message has none of what a request has. */
const messageSource: RequestSource<unknown, undefined> = {
  address: () => undefined,
  header: () => undefined,
  signal: () => undefined,
  method: () => "MESSAGE",
  target: () => "/",
};

async function exceptionOf({ status, body }: Refusal): Promise<Error> {
  const { HttpException } = await loadPackage({
    name: "@nestjs/common",
    action: "refuse a request of NestJS",
    since: "8.0",
    load: () => import("@nestjs/common"),
    isRecent: (module) => typeof module.HttpException === "function",
  });
  return new HttpException(dataOf(body), status);
}

/** Nest writes bodies as JSON itself, but `respond` may return any text. */
function dataOf(body: string): string | object {
  try {
    const data: unknown = JSON.parse(body);
    return typeof data === "object" && data !== null ? data : body;
  } catch {
    return body;
  }
}

/** A storage, as @nestjs/throttler needs it. */
export interface ThrottlerStorage {
  /** Counts a hit. Times are in milliseconds, but in the answer they are in seconds. */
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<{
    totalHits: number;
    timeToExpire: number;
    isBlocked: boolean;
    timeToBlockExpire: number;
  }>;
}

/**
 * A storage for @nestjs/throttler, so that its counts are shared by threads or machines.
 *
 * @param options Where to count.
 * @returns The option `storage` of `ThrottlerModule.forRoot`.
 * @throws {TypeError} If there is a store without a prefix.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { throttlerStorage } from "tidegate/nestjs";
 *
 * const store = memoryStore(); // or that of tidegate/shared, or of tidegate/redis
 * const storage = throttlerStorage({ store, prefix: "web" });
 * // ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 100 }], storage })
 * console.log(typeof storage.increment);
 * ```
 */
export function throttlerStorage(options: HitStoreOptions = {}): ThrottlerStorage {
  const windows = hitWindows(options);
  const seconds = (milliseconds: number) => Math.ceil(milliseconds / 1_000);

  return {
    async increment(key, ttl, limit, blockDuration, throttlerName) {
      // Without a duration, a client is blocked until its window ends.
      const block = blockDuration > 0
        ? { most: limit, duration: Math.ceil(blockDuration) }
        : undefined;
      const { count, resetAfter } = await windows(ttl, block).hit(`${throttlerName} ${key}`);
      const isBlocked = count > limit;
      return {
        totalHits: isBlocked ? Math.min(count, limit + 1) : count,
        timeToExpire: seconds(resetAfter),
        isBlocked,
        timeToBlockExpire: isBlocked ? seconds(resetAfter) : 0,
      };
    },
  };
}

const source: RequestSource<NestRequest, ServerResponse> = {
  address: ({ socket }) => socket.remoteAddress,
  trustedAddress: ({ ip, socket }) => ip ?? socket.remoteAddress,
  header: (request, name) => nodeHeader(request, name),
  signal: (_request, response) => closingOf(response),
  method: (request) => (request as { readonly method?: string }).method ?? "GET",
  target: (request) =>
    nodeTarget((request as { readonly raw?: IncomingMessage }).raw ?? (request as object)),
  ignoresCase(request) {
    const { app } = request as { readonly app?: { enabled?(setting: string): boolean } };
    if (app?.enabled === undefined) return ignoresCaseInFastify(request);
    return !app.enabled("case sensitive routing");
  },
};
