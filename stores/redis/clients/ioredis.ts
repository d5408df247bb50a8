/*
 * Connections by ioredis 5 and 6 and iovalkey: duplicates of the client that was given, whose
 * connection lives once. Its own retries are off, as a command that is sent again may be charged
 * twice; `WATCH` may be used, as nobody else has the connection.
 *
 * A cluster client brings each script call to its node by itself, so it cannot watch.
 */

import type { Command, Dial } from "./connection.ts";
import { connect, type DedicatedClient } from "./dedicated_connection.ts";
import { withGrace } from "./dedicated_options.ts";

/** A client of ioredis or iovalkey, or a cluster client. */
export interface IoRedisClient {
  /** `"ready"` when it can be used. */
  readonly status: string;
  /** Sends a command by its name. */
  call(command: never, ...rest: never[]): unknown;
  /** Makes another client with the same options, but for those given. */
  duplicate(...overrides: never[]): unknown;
}

/** What it is duplicated as. */
interface Duplicate {
  readonly status: string;
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  call(command: string, ...rest: string[]): Promise<unknown>;
  disconnect(): void;
}

/** Dials with the options of a client. */
export function dialIoRedis(client: IoRedisClient): Dial {
  const { duplicate } = client as unknown as { duplicate(options: object): Duplicate };
  return (timeout) =>
    connect(
      async () => dedicatedClient(await duplicate.call(client, nodeOptions(timeout)), false),
      timeout,
    );
}

/** Dials the nodes of a cluster, all as one connection. */
export function dialIoRedisCluster(client: IoRedisClient): Dial {
  const { options = {}, duplicate } = client as unknown as {
    readonly options?: { readonly redisOptions?: object };
    duplicate(nodes: readonly object[], options: object): Duplicate;
  };
  return (timeout) => {
    const overrides = {
      ...options,
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: noRetry,
      retryDelayOnFailover: 0,
      slotsRefreshTimeout: withGrace(timeout),
      // A cluster client asks a node for the slots before that is ready.
      redisOptions: { ...options.redisOptions, ...nodeOptions(timeout), enableOfflineQueue: true },
    };
    return connect(
      async () => dedicatedClient(await duplicate.call(client, [], overrides), true),
      timeout,
    );
  };
}

function nodeOptions(timeout: number): object {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    enableAutoPipelining: false,
    commandTimeout: undefined,
    socketTimeout: undefined,
    connectTimeout: withGrace(timeout),
    maxRetriesPerRequest: 0,
    reconnectOnError: null,
    retryStrategy: noRetry,
    sentinelRetryStrategy: noRetry,
  };
}

function noRetry(): null {
  return null;
}

function dedicatedClient(client: Duplicate, isShared: boolean): DedicatedClient {
  return {
    isShared,
    get isReady() {
      return client.status === "ready";
    },
    on: (event, listener) => client.on(event, listener),
    connect: () => client.connect(),
    sendCommand: ([name = "", ...rest]: Command) => client.call(name, ...rest),
    destroy: () => client.disconnect(),
  };
}
