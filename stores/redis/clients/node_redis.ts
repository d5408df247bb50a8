/*
 * Connections by a client or a pool of node-redis (the package `redis`, 5.1 or later): duplicates of
 * the client that was given, with options of their own.
 */

import type { Dial } from "./connection.ts";
import { connect, type DedicatedClient } from "./dedicated_connection.ts";
import { dedicatedOptions } from "./dedicated_options.ts";

/** The members that the store needs of a node-redis client, the result of `createClient`. */
export interface NodeRedisClient {
  /** Its options. */
  readonly options?: unknown;
  /** Makes another client with the same options, but for those given. */
  duplicate(overrides?: never): unknown;
  /** Sends one command. */
  sendCommand(command: never): unknown;
}

/** A connected node-redis pool, the result of `createClientPool`. */
export interface NodeRedisPool {
  /** How many clients it has. */
  readonly totalClients: number;
  /** Lends a client to a function. */
  execute(use: never): unknown;
}

/** A client that can be duplicated. */
export interface Original {
  readonly options?: { readonly socket?: object };
  duplicate(overrides: object): DedicatedClient;
}

/** Dials with the options of a client. */
export function dialClient(client: NodeRedisClient): Dial {
  const original = client as unknown as Original;
  return (timeout) => connect(() => Promise.resolve(copyOf(original, timeout)), timeout);
}

/** Dials with the options of a pool's clients. */
export function dialPool(pool: NodeRedisPool): Dial {
  const { execute } = pool as unknown as { readonly execute: Lend };
  return dialLent((use) => execute.call(pool, use));
}

/** Lends a client to a function, and returns the result of the function. */
type Lend = (use: (client: Original) => Promise<DedicatedClient>) => Promise<DedicatedClient>;

/** Dials with the options of a lent client. */
export function dialLent(lend: Lend): Dial {
  return (timeout) => {
    const copy = async (client: Original) => await copyOf(client, timeout);
    return connect(() => lend(copy), timeout);
  };
}

/** A client with the same options, except those of dedicated_options.ts. It is not connected yet. */
export function copyOf(client: Original, timeout: number): DedicatedClient {
  return client.duplicate(dedicatedOptions(client.options?.socket, timeout));
}
