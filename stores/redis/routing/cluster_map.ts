/*
 * The map from hash slots to their nodes.
 *
 * The first call reads the map; it is read again when a node has failed or has redirected a call. Each
 * read uses a connection of its own, and any node can answer. Known nodes are tried in random order,
 * because a node that is cut off from the others replies with an outdated map. Failing nodes are tried
 * after them, and the nodes of the client's options last.
 */

import type { ClusterDials, Dial } from "../clients/connection.ts";
import { repliesTo } from "../connections/round_trip.ts";
import { staggeredAttempts } from "../connections/staggered_attempts.ts";
import { SLOTS } from "./hash_slot.ts";

/** The known slots of a cluster. Addresses are host and port. */
export interface SlotMap {
  /** The node of each slot. */
  readonly owners: (string | undefined)[];
  /** Every node, replicas too. */
  readonly nodes: readonly string[];
}

/** Milliseconds that a node may take to answer before another node is asked as well. */
const HEAD_START = 100;

/**
 * Asks for the slots.
 *
 * @param isFailing Whether a node has failed recently.
 * @param requireOpen Throws once nobody needs the slots any more.
 * @param timeout The most milliseconds for each connection, for each query, and for everything.
 */
export function readSlotMap(
  { nodeAt, roots }: ClusterDials,
  nodes: readonly string[],
  isFailing: (address: string) => boolean,
  requireOpen: () => void,
  timeout: number,
): Promise<SlotMap> {
  const known = shuffled(nodes);
  const dials = [
    ...known.filter((address) => !isFailing(address)).map(nodeAt),
    ...shuffled(roots),
    ...known.filter(isFailing).map(nodeAt),
  ];
  const attempts = dials.map((dial) => async () => {
    requireOpen();
    return await readFrom(dial, timeout);
  });
  return staggeredAttempts(attempts, HEAD_START, timeout, () => {});
}

/** Reads the slots from one node. */
async function readFrom(dial: Dial, timeout: number): Promise<SlotMap> {
  const connection = await dial(timeout);
  try {
    const [reply] = await repliesTo(connection, [["CLUSTER", "SLOTS"]], timeout);
    return slotMapOf(reply);
  } finally {
    connection.destroy();
  }
}

/**
 * Reads a reply to CLUSTER SLOTS: for each range its first and last slot, its master and replicas.
 *
 * @throws If it is an error, or the node knows no slots.
 */
function slotMapOf(reply: unknown): SlotMap {
  if (reply instanceof Error) throw reply;
  const owners = new Array<string | undefined>(SLOTS).fill(undefined);
  const nodes = new Set<string>();
  for (const [from, to, ...having] of reply as readonly SlotRange[]) {
    const addresses = having.map(([host, port]) => `${host}:${port}`);
    owners.fill(addresses[0], Number(from), Number(to) + 1);
    for (const address of addresses) nodes.add(address);
  }
  if (nodes.size === 0) throw new Error("The node does not belong to a cluster");
  return { owners, nodes: [...nodes] };
}

type SlotRange = readonly [
  from: number,
  to: number,
  ...having: (readonly [host: string, port: number])[],
];

/** The same items in random order, all orders equally likely (R. Durstenfeld, Algorithm 235, 1964). */
function shuffled<Item>(items: readonly Item[]): Item[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const index = Math.floor(Math.random() * (last + 1));
    [result[last], result[index]] = [result[index]!, result[last]!];
  }
  return result;
}
