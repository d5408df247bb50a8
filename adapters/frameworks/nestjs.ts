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
import type { RequestSource } from "../http/address/client_key.ts";
import { gate } from "../http/gate/gate.ts";
import type { RateLimitOptions } from "../http/gate/rate_limit_options.ts";
import {
  closingOf,
  nodeHeader,
  nodeReplies,
  nodeTarget,
  whenClosed,
  whenEnded,
} from "../http/servers/node_response.ts";
import { ignoresCaseInFastify } from "./fastify.ts";
import { loadPackage } from "../optional_packages/load_package.ts";
import type { Refusal } from "../http/gate/refusal.ts";
import { type HitStoreOptions, hitWindows } from "./hit_stores.ts";

/** The part of Nest's execution context that is needed. */
export interface NestContext {
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
 * @param options Only `limiter` is required. Its functions receive the request and the response of
 * node:http.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function rateLimitGuard<Request extends NestRequest = NestRequest>(
  options: RateLimitOptions<Request, ServerResponse>,
): NestGuard {
  const decide = gate(options, source);

  return {
    async canActivate(context) {
      const http = context.switchToHttp();
      const request = http.getRequest() as Request;
      const platform = http.getResponse() as ServerResponse & { readonly raw?: ServerResponse };
      const response = platform.raw ?? platform;
      const { decision, headers, refusal, settle, release } = await decide(request, response);
      if (release !== undefined) whenClosed(response, release);
      if (decision !== undefined) request.rateLimit = decision;
      // Fastify keeps its own header fields in addition to the fields of node:http.
      applyHeaders(nodeReplies.fields(response), headers);
      if (refusal === undefined) {
        if (settle !== undefined) whenEnded(response, (status) => settle({ status }));
        return true;
      }
      await options.onRefused?.(refusal, request, response);
      throw await exceptionOf(refusal);
    },
  };
}

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
  target: (request) => nodeTarget((request as { readonly raw?: IncomingMessage }).raw ?? request),
  ignoresCase(request) {
    const { app } = request as { readonly app?: { enabled?(setting: string): boolean } };
    if (app?.enabled === undefined) return ignoresCaseInFastify(request);
    return !app.enabled("case sensitive routing");
  },
};
