/*
 * Which node has which slot.
 *
 * The map is read when the first call comes, and renewed when a node has failed or sent a call
 * elsewhere: by a connection that lives for one question. Any node can answer. Those that are known
 * are tried in random order, as one that is cut off from the others replies what it knew before;
 * those that fail come last, and then those that the client's options name.
 */

import { type ClusterDials, clusterDials, type NodeRedisCluster } from "../clients/cluster_dial.ts";
import type { Dial } from "../clients/connection.ts";
import { storeClosed } from "../failures/batch_failure.ts";
import { SLOTS } from "./hash_slot.ts";
import { staggeredAttempts } from "../connections/staggered_attempts.ts";
import { hasReplies, roundTrip } from "../connections/round_trip.ts";

/** Milliseconds that a node has for its answer before another one is tried, too. */
const HEAD_START = 100;

/** What a node replies; addresses are host and port. */
interface Slots {
  /** The node that has each slot. */
  readonly owners: (string | undefined)[];
  /** Every node, replicas too. */
  readonly nodes: readonly string[];
}

/** The slots of a cluster, as far as they are known. */
export interface ClusterMap {
  readonly dials: ClusterDials;
  /** The most milliseconds that a renewal may take. */
  readonly most: number;
  /** Whether a node does not answer its calls. */
  readonly isFailing: (address: string) => boolean;
  known: Slots;
  /** The renewal under way. */
  renewal: Promise<void> | undefined;
  closed: boolean;
}

/** Makes a map of which nothing is known yet. */
export function clusterMap(
  client: NodeRedisCluster,
  most: number,
  isFailing: (address: string) => boolean,
): ClusterMap {
  const dials = clusterDials(client, most);
  const known = { owners: [], nodes: [] };
  return { dials, most, isFailing, known, renewal: undefined, closed: false };
}

/** The address of the node that has a slot, as far as is known. */
export function ownerOf({ known }: ClusterMap, slot: number): string | undefined {
  return known.owners[slot];
}

/** Renews the map; one renewal at a time, however many need it. */
export function renewSlots(map: ClusterMap): Promise<void> {
  return map.renewal ??= readAnywhere(map).finally(() => {
    map.renewal = undefined;
  });
}

async function readAnywhere(map: ClusterMap): Promise<void> {
  const { dials: { nodeAt, roots }, isFailing, most } = map;
  const nodes = shuffled(map.known.nodes);
  const dials = [
    ...nodes.filter((address) => !isFailing(address)).map(nodeAt),
    ...shuffled(roots),
    ...nodes.filter(isFailing).map(nodeAt),
  ];
  const attempts = dials.map((dial) => () => readFrom(map, dial));
  map.known = await staggeredAttempts(attempts, HEAD_START, most, () => {});
}

/** Reads the slots from one node. */
async function readFrom({ closed, most }: ClusterMap, dial: Dial): Promise<Slots> {
  if (closed) throw storeClosed();
  const connection = await dial(most);
  try {
    const trip = await roundTrip(connection, [["CLUSTER", "SLOTS"]], most);
    if (!hasReplies(trip)) throw trip.error;
    return readSlots(trip[0]);
  } finally {
    connection.destroy();
  }
}

/**
 * Reads a reply to CLUSTER SLOTS: for each range its first and last slot, its master and replicas.
 *
 * @throws If it is an error, or the node knows of no slots.
 */
function readSlots(reply: unknown): Slots {
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
