/*
 * Connections to the nodes of a cluster, by a cluster client of node-redis.
 *
 * A cluster client makes the clients of its nodes, with its options `defaults` and `nodeAddressMap`.
 * So the store duplicates it, with the nodes' options replaced (see dedicated_options.ts), and lets
 * the duplicate make the clients of nodes. The duplicate itself is never connected. There is only one
 * for all nodes, because each duplicate makes a class for its clients, which takes a millisecond.
 */

import type { ClusterDials, Dial } from "./connection.ts";
import { connect, type DedicatedClient, destroy } from "./dedicated_connection.ts";
import { type Duplicated, optionsOf } from "./options_of.ts";
import { dedicatedOptions } from "./dedicated_options.ts";

/** A node-redis cluster client; `createCluster` returns it. */
export interface NodeRedisCluster {
  /** A client of some node that has a slot. */
  getSlotRandomNode(slot: number): unknown;
  /** Makes another cluster client with the same options, but for those given. */
  duplicate(overrides?: never): unknown;
}

/** The options of a client of one node. */
interface NodeOptions {
  readonly url?: string;
  readonly socket?: { readonly host?: string; readonly port?: number };
}

/** The options of a cluster client. */
interface ClusterOptions {
  readonly rootNodes: readonly NodeOptions[];
  readonly defaults?: NodeOptions;
}

/** A cluster client that makes clients of nodes. */
interface Maker {
  /** Makes the client of a node, keeps it in `client`, and connects it. */
  nodeClient(node: Place): Promise<unknown>;
  on(event: "error", listener: () => void): unknown;
}

/** The place of a node. `nodeAddressMap` receives the address. */
interface NodeName {
  readonly address: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
}

/** A node whose client has not been made yet. */
interface Place extends NodeName {
  readonly readonly: false;
  /** The client. Before 5.0 it is a promise until it is connected. */
  client: DedicatedClient | Promise<DedicatedClient> | undefined;
}

/**
 * Dials with the options of a cluster client.
 *
 * @param timeout The most milliseconds that a dial may be given.
 */
export function clusterDials(cluster: NodeRedisCluster, timeout: number): ClusterDials {
  const original = cluster as unknown as Duplicated<Maker>;
  const { rootNodes, defaults } = optionsOf<ClusterOptions>(original);

  async function makerOf(options: NodeOptions, overrides: object): Promise<Maker> {
    const own = dedicatedOptions({ ...defaults?.socket, ...options.socket }, timeout);
    const maker = await original.duplicate({
      ...overrides,
      clientSideCache: undefined,
      defaults: { ...defaults, ...options, ...own },
    });
    // Before 5.0 it reports the errors of its nodes.
    await maker.on("error", () => {});
    return maker;
  }

  /** Dials a node by the client that a maker makes for it. */
  function dialBy(maker: () => Promise<Maker>, node: NodeName): Dial {
    return (left) => connect(async () => clientOf(await maker(), node), left);
  }

  const nodes = once(() => makerOf({}, {}));
  return {
    roots: rootNodes.map((root) => {
      const { host, port } = root.socket ?? {};
      const own = once(() => makerOf(root, { nodeAddressMap: undefined }));
      return dialBy(own, { address: "", host, port });
    }),
    nodeAt: (address) => dialBy(nodes, named(address)),
  };
}

/** The node at an address: a host, a colon, a port. */
function named(address: string): NodeName {
  const colon = address.lastIndexOf(":");
  return { address, host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** A function that makes a value when it is first called, and then returns the same value. */
function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => made ??= make();
}

/** The client that a cluster client makes when it is told to connect. */
function clientOf(maker: Maker, node: NodeName): DedicatedClient {
  const place: Place = { ...node, readonly: false, client: undefined };
  const listeners: Parameters<DedicatedClient["on"]>[] = [];
  let client: DedicatedClient | undefined;
  return {
    get isReady() {
      return client?.isReady === true;
    },
    on: (...listener) => listeners.push(listener),
    async connect() {
      const connected = maker.nodeClient(place);
      const made = place.client;
      if (made !== undefined && "isReady" in made) {
        client = made;
        await Promise.all([connected, ...listeners.map((each) => made.on(...each))]);
      } else {
        await connected;
        client = await place.client;
      }
    },
    sendCommand: (command) => client!.sendCommand(command),
    destroy: () => client === undefined ? undefined : destroy(client),
  };
}
