/**
 * Rate limiting for Fastify 5 and 4, and a store for @fastify/rate-limit.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { decisionOf, rateLimit } from "tidegate/fastify";
 * import Fastify from "fastify";
 *
 * const app = Fastify();
 * await app.register(rateLimit({ limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })) }));
 * app.get("/", (request) => `${decisionOf(request)?.remaining} left`);
 * // await app.listen({ port: 8080 });
 * ```
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";

import type { Decision } from "../../core/decision.ts";
import { andThen, orElse } from "../../core/maybe_promise.ts";
import { rangeError } from "../../core/options/checks.ts";
import { clientKeyOf, type RequestSource } from "../http/address/client_key.ts";
import {
  closingOf,
  ignoresCaseInFastify,
  limitOnNode,
  nodeHeader,
  type NodeReplies,
  nodeTarget,
} from "../http/servers/node_response.ts";
import type { ClientKeyOptions, RateLimitOptions } from "../http/gate/rate_limit_options.ts";
import { type HitStoreOptions, hitWindows } from "./hit_stores.ts";

/** The parts of Fastify's request that this adapter uses. */
export interface FastifyRequestLike {
  /** Node's request. */
  readonly raw: IncomingMessage;
  /** The header fields. */
  readonly headers: IncomingHttpHeaders;
  /** The client's address, resolved by the server's option `trustProxy`. */
  readonly ip: string;
}

/** The parts of Fastify's reply that this adapter uses. */
export interface FastifyReplyLike {
  /** Node's response. */
  readonly raw: ServerResponse;
  /** Whether a response has been sent. */
  readonly sent: boolean;
  /** Sets a header field. */
  header(name: string, value: string): unknown;
  /** Reads a header field. */
  getHeader(name: string): number | string | string[] | undefined;
  /** Sets the status. */
  code(status: number): unknown;
  /** Sends the response with this body. */
  send(body: Uint8Array): unknown;
}

/** A hook of Fastify. */
export type FastifyHook<Request extends FastifyRequestLike> = (
  request: Request,
  reply: FastifyReplyLike,
  done: (error?: Error) => void,
) => void;

/** The parts of a Fastify server that this adapter uses. */
export interface FastifyInstanceLike {
  /** Whether requests have a property of this name. */
  hasRequestDecorator(name: string): boolean;
  /** Gives requests a property. */
  decorateRequest(name: string): unknown;
  /** Registers a hook that runs on every request. */
  // deno-lint-ignore no-explicit-any
  addHook(name: "onRequest", hook: (...args: any[]) => void): unknown;
}

/** A plugin of Fastify. */
export type FastifyRateLimit = (
  instance: FastifyInstanceLike,
  options: unknown,
  done: (error?: Error) => void,
) => void;

/**
 * Makes a plugin that limits the rate of the routes of the server, or of the scope, that it is
 * registered in.
 *
 * The client's address is the socket's address. If the server's option `trustProxy` names proxies,
 * it is Fastify's `request.ip`; `trustedProxies` overrides `trustProxy`. The decision is stored in
 * `request.rateLimit`, and `decisionOf(request)` returns it with its type.
 *
 * @param options Only `limiter` is required. Its functions receive the request and the reply.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function rateLimit<Request extends FastifyRequestLike = FastifyRequestLike>(
  options: RateLimitOptions<Request, FastifyReplyLike>,
): FastifyRateLimit {
  const hook = rateLimitHook(options);

  function limitRate(...[instance, , done]: Parameters<FastifyRateLimit>): void {
    if (!instance.hasRequestDecorator("rateLimit")) instance.decorateRequest("rateLimit");
    instance.addHook("onRequest", hook);
    done();
  }

  // Like fastify-plugin: the hook applies to the scope that registers it, without encapsulation.
  return Object.assign(limitRate, {
    [Symbol.for("skip-override")]: true,
    [Symbol.for("fastify.display-name")]: "tidegate",
    [Symbol.for("plugin-meta")]: { name: "tidegate", fastify: ">=4" },
  });
}

/**
 * Makes an `onRequest` hook that limits the rate, for single routes.
 *
 * @param options The same options as for `rateLimit`.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimitHook } from "tidegate/fastify";
 * import Fastify from "fastify";
 *
 * const app = Fastify();
 * const onRequest = rateLimitHook({ limiter: limiter(gcra({ limit: 5, period: "1m", burst: 5 })) });
 * app.post("/login", { onRequest }, () => "welcome");
 * ```
 */
export function rateLimitHook<Request extends FastifyRequestLike = FastifyRequestLike>(
  options: RateLimitOptions<Request, FastifyReplyLike>,
): FastifyHook<NoInfer<Request>> {
  const limit = limitOnNode(options, source, replies);
  return (request, reply, done) =>
    limit(request, reply, () => done(), (error) => done(error as Error));
}

/** The decision about a request; `undefined` if it was not limited. */
export function decisionOf(request: object): Decision | undefined {
  return (request as { readonly rateLimit?: Decision }).rateLimit;
}

/**
 * Makes the default `key` function, on which a key of your own can build.
 *
 * @param options Which proxies to trust, as in `rateLimit`.
 * @returns A function that returns the client's address, or `undefined` if it is unknown.
 */
export function clientKey<Request extends FastifyRequestLike = FastifyRequestLike>(
  options: ClientKeyOptions<Request, FastifyReplyLike> = {},
): (request: Request, reply: FastifyReplyLike) => string | undefined {
  return clientKeyOf(options, source);
}

/** A store, as @fastify/rate-limit needs it. */
export interface FastifyRateLimitStore {
  /** Counts a hit; times are in milliseconds. */
  incr(key: string, done: FastifyRateLimitDone, timeWindow: number, max?: number): void;
  /** Reads the number of hits without adding to it. */
  read(key: string, done: FastifyRateLimitDone, timeWindow: number, max?: number): void;
  /** The store of a route with a limit of its own, or of a limiter made by `createRateLimit`. */
  child(route: object): FastifyRateLimitStore;
}

/** Receives the number of hits of a key, and the milliseconds until it starts anew. */
export type FastifyRateLimitDone = (
  error: Error | null,
  result?: { current: number; ttl: number },
) => void;

/** The options that @fastify/rate-limit hands to its stores, and the route. */
interface StoreParameters {
  readonly continueExceeding?: boolean;
  readonly exponentialBackoff?: boolean;
  readonly routeInfo?: { readonly method?: unknown; readonly url?: string };
}

/**
 * A store for @fastify/rate-limit, so that its counts are shared by threads or machines.
 *
 * Each route with a limit of its own has its own counters. So has each limiter that
 * `fastify.rateLimit` or `fastify.createRateLimit` makes with options: these are numbered, so
 * threads and machines must make them in the same order. The plugin does not close the underlying store.
 *
 * @param options Where to count.
 * @returns The option `store` of @fastify/rate-limit, which calls it with `new`. It throws a
 * `RangeError` for `continueExceeding` and `exponentialBackoff`.
 * @throws {TypeError} If there is a store without a prefix.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { fastifyRateLimitStore } from "tidegate/fastify";
 *
 * const shared = memoryStore(); // or that of tidegate/shared, or of tidegate/redis
 * const store = fastifyRateLimitStore({ store: shared, prefix: "web" });
 * // await app.register(fastifyRateLimit, { max: 100, timeWindow: "1 minute", store });
 * ```
 */
export function fastifyRateLimitStore(
  options: HitStoreOptions = {},
): new (parameters: object) => FastifyRateLimitStore {
  const windows = hitWindows(options);
  let nameless = 0;

  function storeOf(parameters: StoreParameters, scope: string): FastifyRateLimitStore {
    for (const option of ["continueExceeding", "exponentialBackoff"] as const) {
      if (parameters[option] !== true) continue;
      throw rangeError("count hits", `${option} must be false`, true);
    }
    const counting = (way: "hit" | "read"): FastifyRateLimitStore["incr"] => (key, done, window) =>
      orElse(
        () =>
          andThen(
            windows(window)[way](`${scope}${key}`),
            ({ count, resetAfter }) => done(null, { current: count, ttl: resetAfter }),
          ),
        (error) => done(error as Error),
      );
    return {
      incr: counting("hit"),
      read: counting("read"),
      child(route: StoreParameters) {
        const { method, url } = route.routeInfo ?? {};
        if (url === undefined) return storeOf(route, `#${++nameless} `);
        // A space separates route and key, so spaces in the route are dropped.
        return storeOf(route, `${method} ${encodeURI(url)} `);
      },
    };
  }

  // `new` yields the object that a constructor returns.
  function Store(parameters: StoreParameters): FastifyRateLimitStore {
    return storeOf(parameters, "* ");
  }
  return Store as unknown as new (parameters: object) => FastifyRateLimitStore;
}

export type { HitStoreOptions } from "./hit_stores.ts";

const replies: NodeReplies<object, FastifyReplyLike> = {
  keep: (decision, request) => (request as { rateLimit?: Decision }).rateLimit = decision,
  isAnswered: ({ sent }) => sent,
  fields: (reply) => ({
    get: (name) => reply.getHeader(name)?.toString(),
    set: (name, value) => void reply.header(name, value),
  }),
  refuse(reply, { status, contentType, body }) {
    if (reply.sent) return;
    reply.code(status);
    reply.header("Content-Type", contentType);
    // Fastify would append a character set to the content type of a string.
    reply.send(Buffer.from(body));
  },
  raw: ({ raw }) => raw,
};

const source: RequestSource<FastifyRequestLike, FastifyReplyLike> = {
  address: ({ raw }) => raw.socket.remoteAddress,
  trustedAddress: ({ ip }) => ip,
  // `request.ips` is defined only with the option `trustProxy`.
  trustsProxies: (request) => (request as { readonly ips?: unknown }).ips !== undefined,
  header: ({ raw }, name) => nodeHeader(raw, name),
  signal: (_request, { raw }) => closingOf(raw),
  method: ({ raw: { method = "GET" } }) => method,
  target: ({ raw }) => nodeTarget(raw),
  ignoresCase: ignoresCaseInFastify,
};
