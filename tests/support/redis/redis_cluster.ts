import type { AsyncLimiter } from "../../../mod.ts";
import { freePort } from "./free_port.ts";
import { newClient } from "./new_client.ts";
import { type RedisProcess, startRedis } from "./redis_process.ts";

/** A cluster of three masters, with a replica each. */
export interface RedisClusterProcess {
  readonly masters: readonly RedisProcess[];
  readonly replicas: readonly RedisProcess[];
  /** Moves the slot of a key to another master, key by key, while it is in use. */
  moveSlot(slot: number, from: RedisProcess, to: RedisProcess): Promise<void>;
  stop(): Promise<void>;
}

const SLOTS = 16_384;
/** Milliseconds without a sign of life after which a node is taken for dead. */
const NODE_TIMEOUT = 1_500;

/** Sends a command to a node, on a connection of its own. */
export async function tell<Reply>(node: RedisProcess, ...command: string[]): Promise<Reply> {
  const client = newClient(node.url, { reconnectStrategy: false });
  // The promises report failures.
  client.on("error", () => {});
  await client.connect();
  try {
    return await client.sendCommand<Reply>(command);
  } finally {
    client.destroy();
  }
}

/** Starts six nodes on free ports, and makes them a cluster. */
export async function startCluster(): Promise<RedisClusterProcess> {
  const nodes = await Promise.all(Array.from({ length: 6 }, startNode));
  const masters = nodes.slice(0, 3);
  const replicas = nodes.slice(3);
  const first = nodes[0]!;

  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };

  try {
    for (const [index, master] of masters.entries()) {
      const from = Math.floor(SLOTS * index / 3);
      const to = Math.floor(SLOTS * (index + 1) / 3) - 1;
      await tell(master, "CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
      await tell(master, "CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
    }
    for (const node of nodes.slice(1)) {
      await tell(first, "CLUSTER", "MEET", "127.0.0.1", String(node.port), String(node.bus));
    }
    await until(async () => await knownBy(nodes) === nodes.length);
    const ids = await Promise.all(masters.map((master) => tell<string>(master, "CLUSTER", "MYID")));
    for (const [index, replica] of replicas.entries()) {
      await tell(replica, "CLUSTER", "REPLICATE", ids[index]!);
    }
    await until(async () => {
      const states = await Promise.all(nodes.map((node) => tell<string>(node, "CLUSTER", "INFO")));
      return states.every((state) => state.includes("cluster_state:ok"));
    });
    await until(async () => {
      const roles = await Promise.all(
        replicas.map((replica) => tell<string>(replica, "INFO", "replication")),
      );
      return roles.every((role) => role.includes("master_link_status:up"));
    });
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    masters,
    replicas,
    stop,
    async moveSlot(slot, from, to) {
      const [fromId, toId] = await Promise.all(
        [from, to].map((node) => tell<string>(node, "CLUSTER", "MYID")),
      );
      await tell(to, "CLUSTER", "SETSLOT", String(slot), "IMPORTING", fromId!);
      await tell(from, "CLUSTER", "SETSLOT", String(slot), "MIGRATING", toId!);
      await new Promise((resolve) => setTimeout(resolve, 100));
      for (;;) {
        const keys = await tell<string[]>(from, "CLUSTER", "GETKEYSINSLOT", String(slot), "10");
        if (keys.length === 0) break;
        for (const key of keys) {
          await tell(from, "MIGRATE", "127.0.0.1", String(to.port), key, "0", "1000");
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
      for (const node of [to, from]) {
        await tell(node, "CLUSTER", "SETSLOT", String(slot), "NODE", toId!);
      }
    },
  };
}

/** A node, and the port on which nodes talk to each other. */
type ClusterNode = RedisProcess & { readonly bus: number };

async function startNode(): Promise<ClusterNode> {
  const bus = await freePort();
  const node = await startRedis([
    ...["--cluster-enabled", "yes", "--cluster-node-timeout", String(NODE_TIMEOUT)],
    ...["--cluster-port", String(bus), "--cluster-replica-validity-factor", "0"],
    ...["--repl-diskless-sync-delay", "0"],
  ]);
  return { ...node, bus };
}

/** The fewest nodes that any node knows. */
async function knownBy(nodes: readonly RedisProcess[]): Promise<number> {
  const lists = await Promise.all(nodes.map((node) => tell<string>(node, "CLUSTER", "NODES")));
  return Math.min(...lists.map((list) => list.trim().split("\n").length));
}

/** Waits until a call on a key succeeds. */
export function untilServed(limiter: AsyncLimiter, key: string): Promise<void> {
  return until(() => limiter.consume(key).then(() => true, () => false));
}

/** Waits until something is so, at most 60 seconds. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (performance.now() < end) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The cluster did not come up within 60 seconds");
}
