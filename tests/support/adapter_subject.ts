import assert from "node:assert/strict";

import type { RateLimitOptions } from "../../adapters/http/http.ts";
import type { Limiter } from "../../core/limiter/limiter_types.ts";
import { gcra, limiter } from "../../mod.ts";
import { type RawAnswer, rawRequest } from "./raw_request.ts";
import type { TestServer } from "./serve_fetch.ts";

/** The options that any adapter can be given: no function among them looks at the request. */
// deno-lint-ignore no-explicit-any
export type AnyOptions = RateLimitOptions<any, any>;

/** The hooks of an app's routes. */
export interface AppHooks {
  /** The second part of `/stream` waits for it. */
  flow(): Promise<void>;
  /**
   * Called by `/slow`, which answers nothing by itself.
   *
   * @param whenGone Calls the listener as soon as the handler can know that the client has gone.
   * @param end Answers `late`, or fails with an `Error("gone")`.
   */
  slow(whenGone: (listener: () => void) => void, end: (fails: boolean) => void): void;
}

/** The reports of an app that answers 503 while a request waits for its verdict. */
export interface Meanwhile {
  /** Called when the 503 has been sent. */
  answered(): void;
  /** Called if the request gets to its handler all the same, or an error is reported. */
  went(where: string): void;
}

/** An app of a framework, with an adapter before its routes. */
export interface AdapterSubject {
  /** The adapter's functions that take its options. */
  readonly makers: readonly unknown[];
  /**
   * Starts an app with these routes, on a free port:
   *
   * | route | answer |
   * |---|---|
   * | `/text`, `/` | `hello`, as the framework answers text |
   * | `/json` | `{"a":1}`, as the framework answers an object |
   * | `/image` | four bytes of type `image/png` |
   * | `/empty` | 204 |
   * | `/missing` | whatever the framework answers where there is no route |
   * | `/left` | what remains, read from the decision on the context |
   * | `/bad` | 400 |
   * | `/throw` | an error is thrown, an `Error("boom")` |
   * | `/stream` | `one`, and after `flow()` is kept `two` |
   * | `/replaced` | 418, which another layer puts in place of the route's answer |
   * | `/slow` | what `slow` says |
   * | `/socket` | a websocket that echoes, if `upgrades` |
   *
   * @param limits The options of each adapter, the outermost first; none without.
   */
  start(limits: readonly AnyOptions[], hooks: AppHooks): Promise<TestServer>;
  /** Starts an app that is set to trust proxies of the loopback network. */
  startTrusting?(options: AnyOptions): Promise<TestServer>;
  /** Starts an app that answers 503 to a request before the adapter's verdict. */
  startAnswering?(options: AnyOptions, meanwhile: Meanwhile): Promise<TestServer>;
  /**
   * Starts an app whose adapter holds for the routes below `/in` alone: `/in/text` and `/in/throw`,
   * beside `/out/text` and `/out/throw`.
   */
  startScoped?(options: AnyOptions): Promise<TestServer>;
  /** Options that the framework needs on this runtime. */
  readonly options?: Partial<AnyOptions>;
  /** Whether the framework leaves the character set out as soon as a plugin sets a field. */
  readonly ignoresCharset?: boolean;
  /** Whether the framework makes most responses itself, so that no adapter sees them. */
  readonly hidesResponses?: boolean;
  /** Whether the decision of one limit is there still after another has skipped the request. */
  readonly keepsDecision?: boolean;
  /** Whether errors are answered where no adapter reaches. */
  readonly losesFields?: boolean;
  /**
   * Whether permits are released when the handler has answered, because the framework does not
   * report the end of the response.
   */
  readonly releasesEarly?: boolean;
  /** Whether `/socket` is there on this runtime. */
  readonly upgrades?: boolean;
}

/** A subject, and how to use a server of it. */
export interface AppOf {
  readonly subject: AdapterSubject;
  /**
   * Starts a server for as long as it is used. It has one limit by default, and none for `undefined`.
   */
  serving(
    options: Partial<AnyOptions> | undefined | readonly Partial<AnyOptions>[],
    use: (port: number) => Promise<void>,
    hooks?: Partial<AppHooks>,
  ): Promise<void>;
}

/** Tests of every subject, by name. */
export type AdapterTests = Readonly<Record<string, (app: AppOf) => Promise<void>>>;

/** An instant that clocks of these tests stand at. */
export const NOW = 1_764_000_000_000;

/** A limiter that admits two, then one every six seconds; its clock stands still. */
export function apiLimiter(): Limiter {
  return limiter(gcra({ name: "api", limit: 10, period: "1m", burst: 2 }), { clock: () => NOW });
}

const NO_HOOKS: AppHooks = { flow: () => Promise.resolve(), slow: (_gone, end) => end(false) };

/** How the tests use a subject. */
export function appOf(subject: AdapterSubject): AppOf {
  return {
    subject,
    async serving(options, use, hooks) {
      const given = options === undefined ? [] : [options].flat() as Partial<AnyOptions>[];
      const limits = given.map((own) => ({
        ...(isLimited(own) ? {} : { limiter: apiLimiter() }),
        ...subject.options,
        ...own,
      } as AnyOptions));
      const server = await subject.start(limits, { ...NO_HOOKS, ...hooks });
      await using(server, use);
    },
  };
}

/** Whether options bring a limit of their own. */
function isLimited({ limit, limits, policy, rules }: Partial<AnyOptions>): boolean {
  return [limit, limits, policy, rules].some((given) => given !== undefined);
}

/** Uses a server, and closes it. */
export async function using(
  server: TestServer,
  use: (port: number) => Promise<void>,
): Promise<void> {
  try {
    await use(server.port);
  } finally {
    await server.close();
  }
}

/** The content type of an answer, without the parts that frameworks add. */
export function typeOf(
  { ignoresCharset }: AdapterSubject,
  { values }: RawAnswer,
): string | undefined {
  const type = values("content-type").join();
  return ignoresCharset ? type.split(";")[0] : type;
}

/** The statuses of requests, one after the other. */
export async function statuses(
  port: number,
  count: number,
  path: string = "/text",
  lines: string[] = [],
): Promise<readonly number[]> {
  const seen: number[] = [];
  while (seen.length < count) seen.push((await rawRequest(port, { path, lines })).status);
  return seen;
}

/**
 * Waits for something that a server is about to do.
 *
 * @param urge Called where it takes long, and then again and again.
 */
export async function until(done: () => boolean, urge: () => void = () => {}): Promise<void> {
  for (let tries = 0; tries < 1_000 && !done(); tries++) {
    if (tries % 20 === 19) urge();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(done());
}
