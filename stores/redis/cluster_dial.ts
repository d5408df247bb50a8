/*
 * Connections to the nodes of a cluster, by a cluster client of node-redis.
 *
 * A cluster client makes clients of nodes with the options that it was given: `defaults`, and
 * `nodeAddressMap`. So for each connection it is duplicated, with the options of its nodes replaced
 * as everywhere in the store (see node_redis.ts), and asked for the client of one node. It is not
 * connected itself, and looks after nothing.
 */

import type { Dial } from "./connection.ts";
import { connect, type OwnClient, ownOptions } from "./node_redis.ts";

/** A node-redis cluster client; `createCluster` returns it. */
export interface NodeRedisCluster {
  /** The client of the node that has a key's slot. */
  getNodeClientForKey(key: string): unknown;
  /** Makes another cluster client with the same options, but for those given. */
  duplicate(overrides?: never): unknown;
}

/** How to dial the nodes of a cluster. */
export interface ClusterDials {
  /** The nodes that its options name. */
  readonly roots: readonly Dial[];
  /** A node at an address that another one has named: host and port. */
  readonly nodeAt: (address: string) => Dial;
}

/** The options of a client of one node. */
interface NodeOptions {
  readonly socket?: { readonly host?: string; readonly port?: number };
}

/** A cluster client that was given. */
interface Original {
  readonly _options: {
    readonly rootNodes: readonly NodeOptions[];
    readonly defaults?: NodeOptions;
  };
  duplicate(overrides: object): Maker;
}

/** A cluster client that makes one client of a node. */
interface Maker {
  on(event: string, listener: () => void): unknown;
  /** Makes and connects the client of a node, and puts it there. */
  nodeClient(node: Place): Promise<unknown>;
}

/** A node to be. */
interface Place {
  readonly address: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly readonly: false;
  client: OwnClient | undefined;
}

/** Dials with the options of a cluster client. */
export function clusterDials(cluster: NodeRedisCluster): ClusterDials {
  const original = cluster as unknown as Original;
  const { rootNodes, defaults } = original._options;
  return {
    roots: rootNodes.map((root) => (patience) => {
      const { host, port } = root.socket ?? {};
      const socket = { ...defaults?.socket, ...root.socket };
      const options = { ...defaults, ...root, ...ownOptions(socket, patience) };
      const maker = original.duplicate({
        ...ALONE,
        defaults: options,
        nodeAddressMap: undefined,
      });
      return connect(() => Promise.resolve(clientOf(maker, "", host, port)), patience);
    }),
    nodeAt: (address) => (patience) => {
      const colon = address.lastIndexOf(":");
      const [host, port] = [address.slice(0, colon), Number(address.slice(colon + 1))];
      const options = { ...defaults, ...ownOptions({ ...defaults?.socket }, patience) };
      const maker = original.duplicate({ ...ALONE, defaults: options });
      return connect(() => Promise.resolve(clientOf(maker, address, host, port)), patience);
    },
  };
}

/** Options of a cluster client that each node's client would be given as well. */
const ALONE = { clientSideCache: undefined };

/** The client that a cluster client makes once it is to connect. */
function clientOf(
  maker: Maker,
  address: string,
  host: string | undefined,
  port: number | undefined,
): OwnClient {
  const place: Place = { address, host, port, readonly: false, client: undefined };
  return {
    get isReady() {
      return place.client?.isReady === true;
    },
    on: (event, listener) => maker.on(`node-${event}`, listener as () => void),
    connect: () => maker.nodeClient(place),
    sendCommand: (command) => place.client!.sendCommand(command),
    destroy: () => place.client?.destroy(),
  };
}
