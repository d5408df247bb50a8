import { checkOptions, errorMessage, firstPrinted, guarded } from "../../core/toolkit.ts";
import { gcra, memoryStore, type Store } from "../../mod.ts";
import { type SharedStore, sharedStore } from "../../stores/shared/shared_store.ts";
import {
  checkSource,
  fileSource,
  followRules,
  problemText,
  type RuleDocument,
  type RuleFormat,
  type RulesEvent,
  type RuleSource,
} from "../rules/rules.ts";
import { startWorkers, type WorkerPool } from "./threads/worker_pool.ts";
import { addFigures, figuresOfRules, type FiguresSnapshot } from "./metrics/figures.ts";
import { type GrpcServer, grpcServer } from "./envoy/grpc_server.ts";
import { type HttpServer, startHttpServer } from "./http/http_server.ts";
import { errorText, type Log, type LogEvent } from "./log.ts";
import type { Question } from "./threads/messages.ts";
import { REQUEST_LIMITS, type RequestLimits } from "./http/request_bounds.ts";
import { requireFreePort } from "./http/shared_port.ts";
import { type RedisOptions, storeOnRedis } from "./store_on_redis.ts";
import { type ServiceThread, serviceThread } from "./threads/service_thread.ts";
import { sharesPort } from "./http/shared_port.ts";
import { tokenCheck } from "./http/token_check.ts";

/** The options of `serveHeads`. */
export interface ServeOptions {
  /** The rules: the path of a file or a folder, or another source. */
  readonly rules: string | RuleSource;
  /** The form of the rules; default `"auto"`. */
  readonly format?: RuleFormat | undefined;
  /** Whether files may add to each other's domains; default no. */
  readonly mergeDomains?: boolean | undefined;
  /** Where to listen; default `"127.0.0.1"`. */
  readonly hostname?: string | undefined;
  /** The port for HTTP; 0 for a free one; default 8080. */
  readonly port?: number | undefined;
  /** The port for gRPC; 0 for a free one; without it there is no gRPC. */
  readonly grpcPort?: number | undefined;
  /** Threads that serve HTTP: workers, or this thread if 1 (default); 1 on Node before 22.12. */
  readonly threads?: number | undefined;
  /** The most keys of the embedded store; default 1,000,000. */
  readonly capacity?: number | undefined;
  /** Keeps counters in Redis, in place of the embedded store. */
  readonly redis?: RedisOptions | undefined;
  /** Keeps counters in a store of your own; only with one thread. */
  readonly store?: Store | undefined;
  /** What calls must bring to change anything; without it all of them may. */
  readonly token?: string | undefined;
  /** The proxies whose word on a client's address is believed; default those on this machine. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** The most bytes of a body; default 1 MiB. */
  readonly maxBody?: number | undefined;
  /** How much a body may ask for. */
  readonly limits?: Partial<RequestLimits> | undefined;
  /** Where events go; default nowhere. */
  readonly log?: Log | undefined;
}

/** A service that is running. */
export interface Service {
  /** Where HTTP is served: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The port of HTTP. */
  readonly port: number;
  /** The port of gRPC; `undefined` without it. */
  readonly grpcPort: number | undefined;
  /** Reads the rules now; whether those of the source hold. */
  reload(): Promise<boolean>;
  /** What all threads have counted. */
  figures(): Promise<FiguresSnapshot>;
  /**
   * Ends the service: takes no more calls, and lets those under way end for so many milliseconds;
   * default 5,000.
   */
  stop(grace?: number): Promise<void>;
}

/**
 * Starts the decision service: HTTP, gRPC if asked for, and the page.
 *
 * @param options Only `rules` is required.
 * @throws {Error} If the rules cannot be loaded, or a port is taken; nothing is left running.
 * @throws {TypeError} If options do not go together.
 *
 * @example
 * ```ts
 * import { serve } from "tidegate/serve";
 * import { objectSource } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const rules = objectSource({
 *   domain: "shop",
 *   rules: [{ key: "user", limits: [{ limit: 1, period: "1m" }] }],
 * });
 * const service = await serve({ rules, port: 0 });
 * const ask = () =>
 *   fetch(`${service.url}/v1/consume`, {
 *     method: "POST",
 *     body: JSON.stringify({ entries: { user: "42" } }),
 *   });
 * assert.equal((await (await ask()).json()).allowed, true);
 * assert.equal((await (await ask()).json()).allowed, false);
 * await service.stop();
 * ```
 */
export async function serve(options: ServeOptions): Promise<Service> {
  checkOptions("serve", options);
  const { hostname = "127.0.0.1", port = 8080, threads = 1, capacity = 1_000_000 } = options;
  const { format, mergeDomains, redis, maxBody = 2 ** 20 } = options;
  requireThreads(threads, options.store);
  requirePort("port", port);
  requirePort("grpcPort", options.grpcPort);
  tokenCheck(options.token);
  const log = quieted(options.log ?? (() => {}));
  const source = typeof options.rules === "string" ? fileSource(options.rules) : options.rules;
  checkSource("serve", "rules", source);
  const limits: RequestLimits = { ...REQUEST_LIMITS, ...options.limits };
  const trustedProxies = options.trustedProxies ?? ["loopback"];
  const settings = { token: options.token, maxBody, limits, trustedProxies };
  const store = options.store ??
    (redis !== undefined
      ? await storeOnRedis(redis, (error) => logError("redis-error", error))
      : threads > 1
      ? sharedStore({ capacity })
      : memoryStore({ maxKeys: capacity }));
  const ends: (() => Promise<unknown> | void)[] = [() => store.close()];
  let documents: readonly RuleDocument[] = [];
  let workers: WorkerPool | undefined;

  function logError(event: string, error: unknown, key?: string): void {
    log({ event, level: "error", error: errorText(error), key });
  }

  async function allFigures(): Promise<FiguresSnapshot> {
    const others = workers === undefined ? [] : await workers.figures();
    const { threads: here, ...own } = thread.figures.snapshot();
    const all = addFigures([{ ...own, threads: workers === undefined ? here : 0 }, ...others]);
    // Workers that ended may have counted rules that are there no more.
    return { ...all, rules: figuresOfRules(all.rules, thread.engine.rules) };
  }

  const thread: ServiceThread = serviceThread({
    ...settings,
    store,
    lookup: source.lookup,
    allFigures,
    reportsStore: true,
    onError: (error) => logError("error", error),
    onLookupError: (error, key) => logError("lookup-failed", error, key),
  });

  /** Ends everything, also after an end that failed. */
  async function endAll(): Promise<void> {
    for (const end of ends.reverse()) {
      try {
        await end();
      } catch (error) {
        logError("error", error);
      }
    }
  }

  function answer(question: Question): Promise<unknown> {
    if (question.of === "figures") return allFigures();
    return source.lookup?.(question.domain, question.key) ?? Promise.resolve(undefined);
  }

  try {
    const followed = await followRules(source, {
      format,
      mergeDomains,
      apply(rules, read) {
        documents = read;
        thread.apply(rules);
        workers?.apply(read);
      },
      onEvent: (event) => log(eventOf(event)),
      onLimitsChanged() {
        thread.engine.forgetLookups();
        workers?.forgetLookups();
      },
    });
    ends.push(() => followed.close());

    let grace = 0;
    let listening: HttpServer | WorkerPool;
    if (threads === 1) {
      const { handler } = thread;
      const server = await startHttpServer({ hostname, port, reusePort: false, maxBody, handler });
      ends.push(() => server.stop(grace));
      listening = server;
    } else {
      const shared = redis === undefined
        ? { handle: (store as SharedStore).handle }
        : { redis: { ...redis } };
      if (port !== 0) await requireFreePort(hostname, port);
      const started = documents;
      listening = workers = await startWorkers({
        size: threads,
        settings: (shareWith) => ({
          ...settings,
          store: shared,
          documents,
          read: { format, mergeDomains },
          lookups: source.lookup !== undefined,
          hostname,
          port: shareWith === 0 ? port : shareWith,
        }),
        answer,
        log,
      });
      const team = workers;
      // Rules that changed while the workers started.
      if (documents !== started) team.apply(documents);
      ends.push(() => team.stop(grace));
    }

    let grpc: GrpcServer | undefined;
    if (options.grpcPort !== undefined) {
      const { engine, figures } = thread;
      const onError = (error: unknown) => logError("error", error);
      const where = { hostname, port: options.grpcPort };
      const { token } = settings;
      grpc = await grpcServer({ engine, figures, maxBody, limits, token, onError, ...where });
      const server = grpc;
      ends.push(() => server.stop(grace));
    }

    const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${listening.port}`;
    log({ event: "listening", url, grpcPort: grpc?.port, threads });
    let stopped: Promise<void> | undefined;
    return {
      url,
      port: listening.port,
      grpcPort: grpc?.port,
      reload: () => followed.reload(),
      figures: allFigures,
      stop(wait = 5_000): Promise<void> {
        stopped ??= (async () => {
          log({ event: "stopping" });
          grace = wait;
          thread.drain();
          workers?.drain();
          await endAll();
          log({ event: "stopped" });
        })();
        return stopped;
      },
    };
  } catch (error) {
    await endAll();
    throw error;
  }
}

function requirePort(option: string, port: number | undefined): void {
  if (port === undefined || (Number.isSafeInteger(port) && port >= 0 && port <= 65_535)) return;
  throw new RangeError(errorMessage("serve", `${option} must be an integer from 0 to 65535`, port));
}

function requireThreads(threads: number, store: Store | undefined): void {
  if (!Number.isSafeInteger(threads) || threads < 1 || threads > 256) {
    throw new RangeError(
      `Cannot serve as threads must be an integer from 1 to 256: current value is ${threads}`,
    );
  }
  if (threads > 1 && store !== undefined) {
    throw new TypeError("Cannot serve as a store of one's own goes with one thread only");
  }
  if (threads > 1 && !sharesPort()) {
    const rule = "threads must be 1 on Node before 22.12, where they cannot share a port";
    throw new RangeError(errorMessage("serve", rule, threads));
  }
}

function eventOf(event: RulesEvent): LogEvent {
  const { problems, ...facts } = event;
  const level = event.event === "rules-loaded" ? "info" : "error";
  return { ...facts, level, problems: problems.slice(0, 20).map(problemText) };
}

/** The same log, but an error that comes again and again is written at most five times a second. */
function quieted(written: Log): Log {
  const log = guarded(written, firstPrinted());
  const store = memoryStore({ maxKeys: 1_000 });
  const often = store.internals!.prepare!("log", gcra({ limit: 5, period: "1s" }));
  return (event) => {
    const key = `${event.event} ${String(event.error ?? event.reason ?? "")}`.slice(0, 200);
    if (event.level !== "error" || often(key, 1, false, undefined).allowed) log(event);
  };
}
