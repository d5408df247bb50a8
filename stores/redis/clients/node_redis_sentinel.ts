/*
 * Connections to the master that sentinels name, by a sentinel client of node-redis.
 *
 * For each connection the sentinels are queried anew, one after the other, and nobody waits for one
 * that is silent. Each is queried by a duplicate of the client that was given, which knows no other
 * sentinel and lives for one query. It connects to the master that the sentinel names; so what it
 * lends is a client of that master, whose options are those to dial with. `_execute` is what the
 * client's own commands are built on; what it lends otherwise hides the options.
 */

import type { Connection, Dial } from "./connection.ts";
import { staggeredAttempts } from "../connections/staggered_attempts.ts";
import { copyOf, dialLent, type Original } from "./node_redis.ts";
import { type Duplicated, optionsOf } from "./options_of.ts";
import { connect, type DedicatedClient, destroy } from "./dedicated_connection.ts";
import { onceOnly } from "./dedicated_options.ts";

/** A node-redis sentinel client; `createSentinel` returns it. */
export interface NodeRedisSentinel {
  /** Where the master is. */
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

/** A sentinel client of our own. */
interface Scout {
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  _execute(
    readOnly: boolean,
    use: (client: Original) => Promise<DedicatedClient>,
  ): Promise<DedicatedClient>;
  destroy(): Promise<void>;
}

/** Milliseconds that a sentinel has for its answer before another one is queried, too. */
const HEAD_START = 150;

/**
 * Dials masters: the sentinel that answered last is queried first. A client of node-redis 5 cannot
 * be duplicated: it must be connected, and lends the client of the master that it knows.
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

/** A client of the master that a sentinel names; not yet connected. */
async function masterBy(scout: Scout, timeout: number): Promise<DedicatedClient> {
  try {
    await scout.connect();
    return await scout._execute(false, (client) => Promise.resolve(copyOf(client, timeout)));
  } finally {
    void destroy(scout);
  }
}

/** A client that knows one sentinel, and fails when that or the master does not answer. */
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
