/*
 * Which node has which slot.
 *
 * The map is read when the first call comes, and renewed when a node has failed or sent a call
 * elsewhere: by a connection that lives for one question. Any node can answer. Those that are known
 * are tried in random order, as one that is cut off from the others replies what it knew before;
 * those that fail come last, and then those that the client's options name.
 */

import type { Dial } from "../clients/connection.ts";
import { storeClosed } from "../failures/batch_failure.ts";
import type { Cluster, Slots } from "./cluster.ts";
import { SLOTS } from "./hash_slot.ts";
import { staggeredAttempts } from "../connections/staggered_attempts.ts";
import { hasReplies, roundTrip } from "../connections/round_trip.ts";

/** Milliseconds that a node has for its answer before another one is tried, too. */
const HEAD_START = 100;

/** Renews the map; one renewal at a time, however many need it. */
export function renewSlots(cluster: Cluster): Promise<void> {
  return cluster.renewal ??= readAnywhere(cluster).finally(() => {
    cluster.renewal = undefined;
  });
}

async function readAnywhere(cluster: Cluster): Promise<void> {
  const { dials: { nodeAt, roots }, nodes, slots, context } = cluster;
  const isFailing = (address: string) => (nodes.get(address)?.breaker.failures ?? 0) > 0;
  const known = shuffled(slots.nodes);
  const dials = [
    ...known.filter((address) => !isFailing(address)).map(nodeAt),
    ...shuffled(roots),
    ...known.filter(isFailing).map(nodeAt),
  ];
  const attempts = dials.map((dial) => () => readFrom(cluster, dial));
  cluster.slots = await staggeredAttempts(
    attempts,
    HEAD_START,
    context.connectDeadline,
    () => {},
  );
}

/** Reads the slots from one node. */
async function readFrom({ closed, context }: Cluster, dial: Dial): Promise<Slots> {
  if (closed) throw storeClosed();
  const { connectDeadline } = context;
  const connection = await dial(connectDeadline);
  try {
    const trip = await roundTrip(connection, [["CLUSTER", "SLOTS"]], connectDeadline);
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
