/*
 * Connections by ioredis 5 and 6 and iovalkey: duplicates of the client that was given, which
 * never reconnect. Its own retries are off, because a command that is sent again may be charged
 * twice; `WATCH` may be used, because nobody else has the connection.
 *
 * A cluster client would bring each command to its node by itself. But the store would see only one
 * connection, and a silent node would hold up the calls on all nodes. So the store dials each node, as
 * it does with other cluster clients.
 */

import type { ClusterDials, Command, Dial } from "./connection.ts";
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

/** The options of a duplicate. */
interface Duplicate {
  readonly status: string;
  readonly options?: { readonly tls?: unknown };
  on(event: string, listener: (error?: unknown) => void): unknown;
  connect(): Promise<unknown>;
  call(command: string, ...rest: string[]): Promise<unknown>;
  disconnect(): void;
}

/** Dials with the options of a client. */
export function dialIoRedis(client: IoRedisClient): Dial {
  const { duplicate } = client as unknown as { duplicate(options: object): Duplicate };
  return (timeout) =>
    connect(
      async () => dedicatedClient(await duplicate.call(client, nodeOptions(timeout))),
      timeout,
    );
}

/** The part of a cluster client that the store uses. */
interface Cluster {
  readonly startupNodes: readonly (object | string | number)[];
  readonly options?: object;
  /** The address of a node after the client's `natMap`. */
  natMapper(address: string): object;
  duplicate(nodes: readonly object[], options: object): {
    readonly connectionPool: { findOrCreate(node: object): Redis };
  };
}

/** A client of one node, made by a cluster client. It is not connected yet. */
interface Redis {
  duplicate(options: object): Duplicate;
}

/**
 * Dials the nodes of a cluster with the options of its client. A duplicate of the client, which is
 * never connected, makes the clients of the nodes.
 */
export function ioRedisClusterDials(client: IoRedisClient): ClusterDials {
  const cluster = client as unknown as Cluster;
  let made: ReturnType<Cluster["duplicate"]> | undefined;

  async function makerOf() {
    const { duplicate, options } = cluster;
    return made ??= await duplicate.call(cluster, [], { ...options, lazyConnect: true });
  }

  function dial(nodeOf: () => object): Dial {
    async function make(timeout: number): Promise<DedicatedClient> {
      const { connectionPool } = await makerOf();
      const node = await connectionPool.findOrCreate({ ...await nodeOf() });
      return dedicatedClient(await node.duplicate(nodeOptions(timeout)));
    }
    return (timeout) => connect(() => make(timeout), timeout);
  }

  return {
    roots: cluster.startupNodes.map((node) => dial(() => rootOf(node))),
    nodeAt: (address) => dial(() => cluster.natMapper(address)),
  };
}

/** The options of a node that a cluster client was given as an object, a URL or a port. */
function rootOf(node: object | string | number): object {
  if (typeof node === "object") return node;
  if (typeof node === "number") return { host: "127.0.0.1", port: node };
  const { hostname, port, username, password, protocol } = new URL(
    node.includes("://") ? node : `redis://${node}`,
  );
  return {
    host: hostname,
    port: Number(port || 6_379),
    ...username === "" ? {} : { username: decodeURIComponent(username) },
    ...password === "" ? {} : { password: decodeURIComponent(password) },
    ...protocol === "rediss:" ? { tls: {} } : {},
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

function dedicatedClient(client: Duplicate): DedicatedClient {
  return {
    get isReady() {
      return client.status === "ready";
    },
    usesTls: client.options?.tls !== undefined,
    on: (event, listener) => client.on(event, listener),
    connect: () => client.connect(),
    sendCommand: ([name = "", ...rest]: Command) => client.call(name, ...rest),
    destroy: () => client.disconnect(),
  };
}
