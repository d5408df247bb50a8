/*
 * One connection to a server. It is made when it is first needed, and again after a loss.
 */

import { storeClosedError } from "./batch_failure.ts";
import type { CircuitBreaker } from "./circuit_breaker.ts";
import type { Connect, Link } from "./driver.ts";
import type { EngineContext } from "./engine_context.ts";
import { performance } from "../own_timers.ts";

/** Attempts to connect. The first to succeed counts. */
interface Dialling {
  readonly connection: Promise<Link>;
  readonly resolve: (ready: Link) => void;
  readonly reject: (error: Error) => void;
  underWay: number;
  /** The instant at which the latest attempt began, by `performance.now`. */
  latest: number;
}

/** A server, and the one connection to it. */
export interface Reconnector {
  readonly connect: Connect;
  readonly context: EngineContext;
  /** All connections to the same server share one breaker. */
  readonly breaker: CircuitBreaker;
  /** The last connection, which may have been lost since. */
  connection: Link | undefined;
  /** The attempts under way to make a connection. */
  dialling: Dialling | undefined;
  closed: boolean;
}

/** Makes the record of a server that is not connected yet. */
export function reconnector(
  connect: Connect,
  context: EngineContext,
  breaker: CircuitBreaker,
): Reconnector {
  return {
    connect,
    context,
    breaker,
    connection: undefined,
    dialling: undefined,
    closed: false,
  };
}

/** The connection, if there is one and it is open. */
export function openConnection({ connection }: Reconnector): Link | undefined {
  return connection?.open === true ? connection : undefined;
}

/** Milliseconds after which a further attempt joins those under way, and the most attempts at once. */
const REDIAL = 100;
const MAX_ATTEMPTS = 8;

/**
 * Returns the connection, and makes one if there is none. An attempt whose packets are lost may wait
 * for a second before it sends them again, and a new attempt would get through long before. So the
 * next call that asks makes a further attempt. The first to succeed counts.
 */
export function connectTo(server: Reconnector): Promise<Link> {
  if (server.connection?.open === false) dropConnection(server);
  if (server.connection !== undefined) return Promise.resolve(server.connection);
  const dialling = server.dialling ??= newDialling();
  const now = performance.now();
  const isDue = now - dialling.latest >= REDIAL && dialling.underWay < MAX_ATTEMPTS;
  if (dialling.underWay === 0 || isDue) {
    dialling.latest = now;
    dialling.underWay++;
    attempt(server, dialling);
  }
  return dialling.connection;
}

function newDialling(): Dialling {
  let resolve!: Dialling["resolve"];
  let reject!: Dialling["reject"];
  const connection = new Promise<Link>((...both) => [resolve, reject] = both);
  return { connection, resolve, reject, underWay: 0, latest: 0 };
}

function attempt(server: Reconnector, dialling: Dialling): void {
  server.connect().then((ready) => {
    if (server.closed || server.dialling !== dialling) return ready.destroy();
    server.dialling = undefined;
    server.breaker.hasConnected = true;
    server.connection = ready;
    server.context.counters.connections++;
    dialling.resolve(ready);
  }, (error) => {
    if (--dialling.underWay > 0 || server.dialling !== dialling) return;
    server.dialling = undefined;
    dialling.reject(error as Error);
  });
}

/** Closes the connection. The next call makes another one. */
export function dropConnection(server: Reconnector): void {
  server.connection?.destroy();
  server.connection = undefined;
}

/** Closes the connection, and any connection that is being made. */
export function closeServer(server: Reconnector): void {
  server.closed = true;
  server.dialling?.reject(storeClosedError());
  server.dialling?.connection.catch(() => {});
  server.dialling = undefined;
  dropConnection(server);
}
