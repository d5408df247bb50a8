/**
 * Rate limiting for Koa 3 and 2.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimit } from "tidegate/koa";
 * import Koa from "koa";
 *
 * const app = new Koa();
 * app.use(rateLimit({ limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })) }));
 * app.use((context) => {
 *   context.body = `${context.state["rateLimit"]?.remaining} left`;
 * });
 * // app.listen(8080);
 * ```
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import { clientKeyOf, type RequestSource } from "../http/address/client_key.ts";
import { applyHeaders } from "../http/fields/apply_headers.ts";
import type { HeaderField } from "../http/fields/header_writer.ts";
import { gate } from "../http/gate/gate.ts";
import type { ClientKeyOptions, RateLimitOptions } from "../http/gate/rate_limit_options.ts";
import {
  closingOf,
  nodeHeader,
  nodeTarget,
  whenClosed,
  whenEnded,
} from "../http/servers/node_response.ts";

/** The part of Koa's context that is needed. */
export interface KoaContext {
  /** The request of node:http. */
  readonly req: IncomingMessage;
  /** The response of node:http. */
  readonly res: ServerResponse;
  /** The client's address, by the app's settings `proxy` and `maxIpsCount`. */
  readonly ip: string;
  /** The app. */
  readonly app: {
    /** Whether the app believes proxies about addresses. */
    readonly proxy: boolean;
  };
  /** Values for later middlewares; `rateLimit` holds the decision. */
  // deno-lint-ignore no-explicit-any
  readonly state: Record<string, any>;
  /** The response. */
  readonly response: {
    /** Reads a header field; `""` if it is not set. */
    get(name: string): string;
  };
  /** The status of the response. */
  status: number;
  /** The body of the response. */
  body: unknown;
  /** Whether the header fields have been sent. */
  readonly headerSent: boolean;
  /** Sets a header field of the response. */
  set(name: string, value: string): void;
}

/** A middleware of Koa. */
export type KoaMiddleware<Context extends KoaContext> = (
  context: Context,
  next: () => Promise<unknown>,
) => Promise<void>;

/**
 * Makes a middleware that limits the rate.
 *
 * The client's address is the socket's address, unless the app's setting `proxy` is on.
 * `trustedProxies` overrides that setting.
 *
 * @param options Only `limiter` is required. Its functions receive the context and the response of
 * node:http.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function rateLimit<Context extends KoaContext = KoaContext>(
  options: RateLimitOptions<Context, ServerResponse>,
): KoaMiddleware<Context> {
  const decide = gate(options, source);

  return async function limitRate(context, next) {
    const { decision, headers, refusal, settle, release } = await decide(context, context.res);
    if (release !== undefined) whenClosed(context.res, release);
    if (settle !== undefined) whenEnded(context.res, (status) => settle({ status }));
    if (decision !== undefined) context.state["rateLimit"] = decision;
    // Another handler answered while the request waited for its verdict.
    if (context.res.writableEnded) return;
    setFields(context, headers);
    try {
      if (refusal === undefined) {
        await next();
        return;
      }
      await options.onRefused?.(refusal, context, context.res);
    } catch (error) {
      // Before Koa answers an error, it drops all fields except the fields of the error.
      if (error instanceof Error) keepFields(error, headers);
      throw error;
    }
    if (context.headerSent || context.body != null) return;
    context.status = refusal.status;
    context.set("Content-Type", refusal.contentType);
    context.body = refusal.body;
  };
}

/**
 * Makes the default `key` function, on which a key of your own can build.
 *
 * @param options The proxies to trust about addresses, as in `rateLimit`.
 * @returns A function that returns the key of a client's address, or `undefined` if the address is
 *   unknown.
 */
export function clientKey<Context extends KoaContext = KoaContext>(
  options: ClientKeyOptions<Context, ServerResponse> = {},
): (context: Context) => string | undefined {
  const keyOf = clientKeyOf(options, source);
  return (context) => keyOf(context, context.res);
}

const source: RequestSource<KoaContext, ServerResponse> = {
  address: ({ req }) => req.socket.remoteAddress,
  trustedAddress: ({ ip }) => ip,
  trustsProxies: ({ app }) => app.proxy,
  header: ({ req }, name) => nodeHeader(req, name),
  signal: (_context, response) => closingOf(response),
  method: ({ req: { method = "GET" } }) => method,
  // koa-mount keeps the part of the path that it removes.
  target: ({ req, mountPath: baseUrl = "" }: KoaContext & { readonly mountPath?: string }) =>
    nodeTarget({ ...pick(req), baseUrl }),
  // The routers for Koa ignore case unless they are told otherwise, which nobody can see here.
  ignoresCase: () => true,
};

function pick(request: { readonly url?: string | undefined }) {
  const { url, originalUrl } = request as { url?: string; originalUrl?: string };
  return originalUrl === undefined ? { url } : { url, originalUrl };
}

function setFields(context: KoaContext, headers: readonly HeaderField[]): void {
  if (context.headerSent) return;
  const { response } = context;
  applyHeaders({
    get: (name) => response.get(name) || undefined,
    set: (name, value) => context.set(name, value),
  }, headers);
}

function keepFields(error: Error & { headers?: object }, headers: readonly HeaderField[]): void {
  if (Object.isExtensible(error)) {
    error.headers = { ...Object.fromEntries(headers), ...error.headers };
  }
}
