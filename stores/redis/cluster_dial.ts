/*
 * Connections to the nodes of a cluster, by a cluster client of node-redis.
 *
 * A cluster client makes clients of nodes with the options that it was given: `defaults`, and
 * `nodeAddressMap`. So it is duplicated, with the options of its nodes replaced as everywhere in the
 * store (see node_redis.ts), and asked for the client of a node. It is not connected itself, and
 * looks after nothing. One duplicate makes the clients of all nodes, as each has a class of its own
 * for its clients, which takes a millisecond to make.
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

/** A cluster client that makes clients of nodes. */
interface Maker {
  /** Makes the client of a node, puts it there, and connects it. */
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

/**
 * Dials with the options of a cluster client.
 *
 * @param patience The most milliseconds that a dial may be given.
 */
export function clusterDials(cluster: NodeRedisCluster, patience: number): ClusterDials {
  const original = cluster as unknown as Original;
  const { rootNodes, defaults } = original._options;

  function makerOf(options: NodeOptions, overrides: object): Maker {
    const own = ownOptions({ ...defaults?.socket, ...options.socket }, patience);
    return original.duplicate({
      ...overrides,
      clientSideCache: undefined,
      defaults: { ...defaults, ...options, ...own },
    });
  }

  const nodes = once(() => makerOf({}, {}));
  return {
    roots: rootNodes.map((root) => {
      const { host, port } = root.socket ?? {};
      const maker = once(() => makerOf(root, { nodeAddressMap: undefined }));
      return (left) =>
        connect(() => Promise.resolve(clientOf(maker(), { address: "", host, port })), left);
    }),
    nodeAt(address) {
      const colon = address.lastIndexOf(":");
      const node = {
        address,
        host: address.slice(0, colon),
        port: Number(address.slice(colon + 1)),
      };
      return (left) => connect(() => Promise.resolve(clientOf(nodes(), node)), left);
    },
  };
}

/** What is made when it is first needed. */
function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => made ??= make();
}

/** The client that a cluster client makes once it is to connect. */
function clientOf(maker: Maker, node: Omit<Place, "readonly" | "client">): OwnClient {
  const place: Place = { ...node, readonly: false, client: undefined };
  const listeners: Parameters<OwnClient["on"]>[] = [];
  return {
    get isReady() {
      return place.client?.isReady === true;
    },
    on: (...listener) => listeners.push(listener),
    connect() {
      const connected = maker.nodeClient(place);
      for (const listener of listeners) place.client?.on(...listener);
      return connected;
    },
    sendCommand: (command) => place.client!.sendCommand(command),
    destroy: () => place.client?.destroy(),
  };
}
