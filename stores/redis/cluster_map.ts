/*
 * Who has which slot, by a cluster client of node-redis.
 *
 * A duplicate of the client that was given keeps the map: it holds a connection to each master.
 * While it cannot reach one, it tries again every 100 ms, and asks the others who has its slots; left
 * to itself, it would do so after 5 seconds, and less and less often. Nothing is decided on its
 * connections; they only tell where to dial.
 */

import type { Dial } from "./connection.ts";
import { dialClient, type NodeRedisClient } from "./node_redis.ts";

/** A node-redis cluster client; `createCluster` returns it. */
export interface NodeRedisCluster {
  /** The client of the node that has a key's slot. */
  getNodeClientForKey(key: string): unknown;
  /** Makes another cluster client with the same options, but for those given. */
  duplicate(overrides?: never): unknown;
}

/** A node of the cluster. */
export interface ClusterNode {
  /** Host and port. */
  readonly address: string;
  readonly dial: Dial;
}

/** Tells where keys are. */
export interface ClusterMap {
  /** The node that has a key's slot, as far as is known. */
  nodeOf(key: string): Promise<ClusterNode>;
  /** The node at an address that a node has named. */
  nodeAt(address: string): Promise<ClusterNode>;
  /** Asks the cluster anew, as the map has been found to be wrong for a key. */
  renew(key: string): Promise<void>;
  close(): void;
}

/** How often a master that cannot be reached is tried, and others asked for its slots, in ms. */
const RETRY_EVERY = 100;

/** A cluster client that was given. */
interface Original {
  /** Its options; `defaults` are those of the clients of its nodes. */
  readonly _options?: { readonly defaults?: { readonly socket?: object } };
  duplicate(overrides: object): OwnCluster;
}

/** What a cluster client can do. */
interface OwnCluster {
  readonly nodeByAddress: ReadonlyMap<string, unknown>;
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  getNodeClientForKey(key: string): Promise<NodeClient>;
  nodeClient(node: unknown): Promise<NodeClient>;
  sendCommand(key: string, readOnly: boolean, command: readonly string[]): Promise<unknown>;
  destroy(): void;
}

interface NodeClient extends NodeRedisClient {
  readonly options: { readonly socket?: { readonly host?: string; readonly port?: number } };
}

/** Makes a map; it asks when it is first used. */
export function clusterMap(cluster: NodeRedisCluster): ClusterMap {
  let scout: OwnCluster | undefined;
  let connecting: Promise<OwnCluster> | undefined;
  let renewing: Promise<void> | undefined;

  async function connected(): Promise<OwnCluster> {
    if (scout !== undefined) return scout;
    connecting ??= connect(scoutOf(cluster as unknown as Original));
    return await connecting;
  }

  async function connect(made: OwnCluster): Promise<OwnCluster> {
    // The store learns of failures by what it sends.
    for (const event of ["error", "node-error"]) made.on(event, () => {});
    try {
      await made.connect();
      scout = made;
      return made;
    } finally {
      connecting = undefined;
    }
  }

  async function ask(key: string): Promise<void> {
    const own = await connected();
    // A command for the key is sent on to the node that has it, and the map mended on the way.
    await own.sendCommand(key, true, ["EXISTS", key]);
  }

  return {
    nodeOf: async (key) => nodeOf(await (await connected()).getNodeClientForKey(key)),
    async nodeAt(address) {
      const own = await connected();
      const node = own.nodeByAddress.get(address);
      if (node === undefined) throw new Error(`There is no node at ${address}`);
      return nodeOf(await own.nodeClient(node));
    },
    renew(key) {
      renewing ??= ask(key).finally(() => renewing = undefined);
      return renewing;
    },
    close: () => scout?.destroy(),
  };
}

function scoutOf(original: Original): OwnCluster {
  const defaults = original._options?.defaults;
  return original.duplicate({
    topologyRefreshOnReconnectionAttemptStrategy: RETRY_EVERY,
    minimizeConnections: false,
    defaults: { ...defaults, socket: { ...defaults?.socket, reconnectStrategy: RETRY_EVERY } },
  });
}

function nodeOf(client: NodeClient): ClusterNode {
  const { host, port } = client.options.socket ?? {};
  return { address: `${host}:${port}`, dial: dialClient(client) };
}
