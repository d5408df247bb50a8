/*
 * Who has which slot.
 *
 * The cluster is asked when the first call comes, and anew when a node has failed or sent a call
 * elsewhere: by a connection that lives for one question. Any node can answer. Those that are known
 * are asked in random order, as one that is cut off from the others tells what it knew before; those
 * that fail come last, and then those that the client's options name.
 */

import { type ClusterDials, clusterDials, type NodeRedisCluster } from "../clients/cluster_dial.ts";
import type { Dial } from "../clients/connection.ts";
import { SLOTS } from "./hash_slot.ts";
import { staggeredAttempts } from "../connections/staggered_attempts.ts";
import { hasReplies, roundTrip } from "../connections/round_trip.ts";

/** Tells where slots are. Addresses are host and port. */
export interface ClusterMap {
  /** The address of the node that has a slot, as far as is known. */
  ownerOf(slot: number): string | undefined;
  /** Takes a node's word for who has a slot. */
  learn(slot: number, address: string): void;
  /** Every node that has a slot. */
  owners(): ReadonlySet<string | undefined>;
  /** How to reach a node. */
  dialOf(address: string): Dial;
  /** Asks the cluster anew; whoever comes in the meantime shares the answer. */
  renew(): Promise<void>;
  /** Asks no more. */
  close(): void;
}

/** What a node tells. */
interface Answer {
  readonly owners: (string | undefined)[];
  /** Every node, replicas too. */
  readonly nodes: readonly string[];
}

/** Milliseconds that a node has for its answer before another one is asked, too. */
const HEAD_START = 100;

/**
 * Makes a map; it asks when it is told to.
 *
 * @param patience The most milliseconds that asking may take.
 * @param isFailing Whether a node does not answer its calls.
 */
export function clusterMap(
  cluster: NodeRedisCluster,
  patience: number,
  isFailing: (address: string) => boolean,
): ClusterMap {
  const { roots, nodeAt }: ClusterDials = clusterDials(cluster, patience);
  let known: Answer = { owners: [], nodes: [] };
  let asking: Promise<void> | undefined;
  let closed = false;

  async function ask(): Promise<void> {
    const end = performance.now() + patience;
    const nodes = shuffled(known.nodes);
    const dials = [
      ...nodes.filter((address) => !isFailing(address)).map(nodeAt),
      ...shuffled(roots),
      ...nodes.filter(isFailing).map(nodeAt),
    ];
    known = await staggeredAttempts(
      dials.map((dial) => () => answerOf(dial, end)),
      HEAD_START,
      () => {},
    );
  }

  /** Asks one node. */
  async function answerOf(dial: Dial, end: number): Promise<Answer> {
    const left = Math.ceil(end - performance.now());
    if (closed || left <= 0) throw new Error(`No node told its slots within ${patience} ms`);
    const connection = await dial(left);
    try {
      const trip = await roundTrip(connection, [["CLUSTER", "SLOTS"]], left);
      if (!hasReplies(trip)) throw trip.error;
      return read(trip[0]);
    } finally {
      connection.destroy();
    }
  }

  return {
    ownerOf: (slot) => known.owners[slot],
    learn(slot, address) {
      known.owners[slot] = address;
    },
    owners: () => new Set(known.owners),
    dialOf: nodeAt,
    renew() {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    close() {
      closed = true;
    },
  };
}

/**
 * Reads a reply to CLUSTER SLOTS: for each range its first and last slot, its master and replicas.
 *
 * @throws If it is an error, or the node knows of no slots.
 */
function read(reply: unknown): Answer {
  if (reply instanceof Error) throw reply;
  const owners = new Array<string | undefined>(SLOTS).fill(undefined);
  const nodes = new Set<string>();
  for (const [from, to, ...having] of reply as readonly SlotRange[]) {
    const addresses = having.map(([host, port]) => `${host}:${port}`);
    owners.fill(addresses[0], Number(from), Number(to) + 1);
    for (const address of addresses) nodes.add(address);
  }
  if (nodes.size === 0) throw new Error("The node that was asked is in no cluster");
  return { owners, nodes: [...nodes] };
}

type SlotRange = readonly [
  from: number,
  to: number,
  ...having: (readonly [host: string, port: number])[],
];

/** The same in another order, each as likely (R. Durstenfeld, Algorithm 235, 1964). */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const place = Math.floor(Math.random() * (last + 1));
    [result[last], result[place]] = [result[place]!, result[last]!];
  }
  return result;
}
