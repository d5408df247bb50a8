/*
 * The decision service: starts its parts one after the other, and hands back what stops them.
 */

import type { FollowedRules } from "../rules/rules.ts";
import type { FiguresSnapshot } from "./metrics/figures_snapshot.ts";
import {
  allFigures,
  endService,
  followSource,
  followTls,
  listen,
  openService,
  type RunningService,
} from "./running_service.ts";
import { readServeOptions, type ServeOptions } from "./serve_options.ts";

/** A service that is running. */
export interface Service {
  /** Where HTTP is served: `http://127.0.0.1:8080`, with TLS `https://...`. */
  readonly url: string;
  /** The port of HTTP. */
  readonly port: number;
  /** The port of gRPC; `undefined` without it. */
  readonly grpcPort: number | undefined;
  /** Reads the rules and the certificate now; whether those that are there hold. */
  reload(): Promise<boolean>;
  /** What all threads have counted. */
  figures(): Promise<FiguresSnapshot>;
  /**
   * Ends the service: after the `drainDelay` it takes no more calls, and lets those under way end for
   * so many milliseconds; default 5,000.
   *
   * @param drainDelay Replaces the option of that name.
   */
  stop(grace?: number, drainDelay?: number): Promise<void>;
}

/**
 * Starts the decision service: HTTP, gRPC if it has a port, and the page.
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
  const running = await openService(readServeOptions(options));
  const { hostname, threads, log } = running.settings;
  try {
    const followed = await followSource(running);
    await followTls(running);
    const { port, grpcPort } = await listen(running);
    const scheme = running.tls === undefined ? "http" : "https";
    const url = `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
    log({ event: "listening", url, grpcPort, threads });
    return serviceOf(running, followed, { url, port, grpcPort });
  } catch (error) {
    await endService(running);
    throw error;
  }
}

function serviceOf(
  running: RunningService,
  followed: FollowedRules,
  places: Pick<Service, "url" | "port" | "grpcPort">,
): Service {
  let stopped: Promise<void> | undefined;
  return {
    ...places,
    async reload() {
      const both = await Promise.all([followed.reload(), running.tls?.reload() ?? true]);
      return both.every(Boolean);
    },
    figures: () => allFigures(running, ""),
    stop: (grace = 5_000, drainDelay = running.settings.drainDelay) =>
      stopped ??= stop(running, grace, drainDelay),
  };
}

async function stop(running: RunningService, grace: number, drainDelay: number): Promise<void> {
  const { settings: { log }, thread, servers } = running;
  log({ event: "stopping" });
  running.grace = grace;
  thread.drain();
  servers?.drain();
  if (drainDelay > 0) await new Promise((resolve) => setTimeout(resolve, drainDelay));
  await endService(running);
  log({ event: "stopped" });
}
