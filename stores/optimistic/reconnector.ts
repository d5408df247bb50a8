/*
 * One connection to a server, made when it is first needed, and again after it was lost.
 */

import { storeClosedError } from "./batch_failure.ts";
import type { CircuitBreaker } from "./circuit_breaker.ts";
import type { Connect, Link } from "./driver.ts";
import type { EngineContext } from "./engine_context.ts";

/** Attempts to connect, of which the first to succeed counts. */
interface Dialling {
  readonly connection: Promise<Link>;
  readonly resolve: (ready: Link) => void;
  readonly reject: (error: Error) => void;
  underWay: number;
  /** When the latest one began, by `performance.now`. */
  latest: number;
}

/** A server, and the one connection to it. */
export interface Reconnector {
  readonly connect: Connect;
  readonly context: EngineContext;
  /** One for all connections to the same server. */
  readonly breaker: CircuitBreaker;
  /** The connection last made; it may have been lost since. */
  connection: Link | undefined;
  /** The attempts under way to make one. */
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

/** Milliseconds after which a further attempt is made beside those under way, and the most of them. */
const REDIAL = 100;
const MAX_ATTEMPTS = 8;

/**
 * The connection; makes one if there is none. An attempt that gets no answer because its packets are lost,
 * may wait for a second to send them again, long after others would get through: so a further one is
 * made beside it, by the next call that asks. The first to succeed counts.
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

/** Closes the connection; the next call makes another one. */
export function dropConnection(server: Reconnector): void {
  server.connection?.destroy();
  server.connection = undefined;
}

/** Closes the connection, and any that is being made. */
export function closeServer(server: Reconnector): void {
  server.closed = true;
  server.dialling?.reject(storeClosedError());
  server.dialling?.connection.catch(() => {});
  server.dialling = undefined;
  dropConnection(server);
}
