/*
 * Connections to the master that sentinels name, by a sentinel client of node-redis.
 *
 * For each connection the store queries the sentinels again, one after the other, and does not wait
 * for a silent one. It queries each by a duplicate of the given client, which knows no other sentinel
 * and lives for one query. The duplicate connects to the master that the sentinel names, and lends a
 * client of that master. The store then dials with the options of that client. It borrows the client
 * by `_execute`, on which the client's own commands are built, because other ways to borrow it hide
 * the options.
 */

import type { Connection, Dial } from "./connection.ts";
import { staggeredAttempts } from "../connections/staggered_attempts.ts";
import { copyOf, dialLent, type Original } from "./node_redis.ts";
import { type Duplicated, optionsOf } from "./options_of.ts";
import { connect, type DedicatedClient, destroy } from "./dedicated_connection.ts";
import { onceOnly } from "./dedicated_options.ts";

/** A node-redis sentinel client; `createSentinel` returns it. */
export interface NodeRedisSentinel {
  /** The address of the master. */
  getMasterNode(): unknown;
  /** From 6.0: makes another sentinel client with the same options, but for those given. */
  duplicate?(overrides?: never): unknown;
  /** Lends a client of the master. */
  _execute(readOnly: never, use: never): unknown;
}

/** The options of a sentinel client. */
interface SentinelOptions {
  readonly sentinelRootNodes: readonly object[];
  readonly sentinelClientOptions?: ClientOptions;
  readonly nodeClientOptions?: ClientOptions;
}

interface ClientOptions {
  readonly socket?: object;
}

/** A sentinel client of the store's own. */
interface Scout {
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  _execute(
    readOnly: boolean,
    use: (client: Original) => Promise<DedicatedClient>,
  ): Promise<DedicatedClient>;
  destroy(): Promise<void>;
}

/** Milliseconds after which a second sentinel is queried, too, if the first has not answered. */
const HEAD_START = 150;

/**
 * Dials masters. The sentinel that answered last is queried first. A client of node-redis 5 cannot be
 * duplicated. It must be connected, and lends the client of the master that it knows.
 */
export function sentinelDial(given: NodeRedisSentinel): Dial {
  if (!("duplicate" in given)) {
    return dialLent((use) => (given as unknown as Scout)._execute(false, use));
  }
  const sentinel = given as unknown as Duplicated<Scout>;
  const options = optionsOf<SentinelOptions>(sentinel);
  const count = options.sentinelRootNodes.length;
  let first = 0;

  async function dialBy(index: number, timeout: number): Promise<Connection> {
    const scout = await scoutOf(sentinel, options, index, timeout);
    const connection = await connect(() => masterBy(scout, timeout), timeout);
    first = index;
    return connection;
  }

  return (timeout) => {
    const attempts = options.sentinelRootNodes.map((_, turn) => {
      const index = (first + turn) % count;
      return () => dialBy(index, timeout);
    });
    return staggeredAttempts(attempts, HEAD_START, timeout, (late) => late.destroy());
  };
}

/** A client of the master that a sentinel names. It is not connected yet. */
async function masterBy(scout: Scout, timeout: number): Promise<DedicatedClient> {
  try {
    await scout.connect();
    return await scout._execute(false, (client) => Promise.resolve(copyOf(client, timeout)));
  } finally {
    void destroy(scout);
  }
}

/** A client that knows one sentinel. It fails if the sentinel or the master does not answer. */
async function scoutOf(
  sentinel: Duplicated<Scout>,
  { sentinelRootNodes, sentinelClientOptions, nodeClientOptions }: SentinelOptions,
  index: number,
  timeout: number,
): Promise<Scout> {
  const limited = (options: ClientOptions | undefined): ClientOptions => ({
    ...options,
    socket: onceOnly(options?.socket, timeout, timeout),
  });
  const scout = await sentinel.duplicate({
    sentinelRootNodes: [sentinelRootNodes[index]],
    sentinelClientOptions: limited(sentinelClientOptions),
    nodeClientOptions: limited(nodeClientOptions),
    maxCommandRediscovers: 0,
    masterPoolSize: 1,
    replicaPoolSize: 0,
    reserveClient: false,
    scanInterval: 0,
    clientSideCache: undefined,
  });
  // The store learns of failures from the outcome of the attempt.
  await Promise.all(["error", "client-error"].map((event) => scout.on(event, () => {})));
  return scout;
}
