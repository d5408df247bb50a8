/*
 * One connection to a server, made when it is first needed, and again after it was lost. Whoever
 * closes a connection of the store does it here.
 */

import { type CircuitBreaker, circuitBreaker } from "./circuit_breaker.ts";
import type { Dial } from "../clients/connection.ts";
import { type NodeConnection, prepareConnection } from "./node_connection.ts";
import { storeClosed } from "../failures/batch_failure.ts";
import type { StoreContext } from "../store_context.ts";

/** A server, and the one connection to it. */
export interface Reconnector {
  readonly dial: Dial;
  readonly context: StoreContext;
  /** One for all connections to the same server. */
  readonly breaker: CircuitBreaker;
  /** The connection last made; it may have been lost since. */
  connection: NodeConnection | undefined;
  /** The attempt under way to make one. */
  connecting: Promise<NodeConnection> | undefined;
  closed: boolean;
}

/** Makes the record of a server that is not connected yet. */
export function reconnector(
  dial: Dial,
  context: StoreContext,
  breaker: CircuitBreaker = circuitBreaker(),
): Reconnector {
  return {
    dial,
    context,
    breaker,
    connection: undefined,
    connecting: undefined,
    closed: false,
  };
}

/** The connection, if there is one and it is open. */
export function openConnection({ connection }: Reconnector): NodeConnection | undefined {
  return connection?.connection.open === true ? connection : undefined;
}

/** The connection; makes one if there is none. One attempt at a time, however many need it. */
export function connectTo(server: Reconnector): Promise<NodeConnection> {
  if (server.connection?.connection.open === false) dropConnection(server);
  if (server.connection !== undefined) return Promise.resolve(server.connection);
  return server.connecting ??= open(server).finally(() => {
    server.connecting = undefined;
  });
}

async function open(server: Reconnector): Promise<NodeConnection> {
  const { dial, context, breaker } = server;
  const connection = await dial(context.connectDeadline);
  try {
    const ready = await prepareConnection(connection, context);
    if (server.closed) throw storeClosed();
    context.counters.connections++;
    breaker.hasConnected = true;
    server.connection = ready;
    return ready;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** Closes the connection; the next call makes another one. */
export function dropConnection(server: Reconnector): void {
  server.connection?.connection.destroy();
  server.connection = undefined;
}

/** Closes the connection, and any that is being made. */
export function closeServer(server: Reconnector): void {
  server.closed = true;
  dropConnection(server);
}
