import {
  type RedisStore,
  redisStore,
  type RedisStoreOptions,
} from "../../../stores/redis/redis_store.ts";
import { hashSlot, SLOTS } from "../../../stores/redis/routing/hash_slot.ts";
import { type FakeRedis, startFakeRedis } from "./fake_redis.ts";
import { newCluster } from "../redis/new_cluster.ts";
import { PATIENT } from "./with_fake.ts";

/** Fake servers that say that they are a cluster. They share no keys. */
export interface FakeCluster {
  readonly nodes: readonly FakeRedis[];
  /** Gives slots to a node. All nodes know it, and the other nodes answer MOVED. */
  give(node: FakeRedis, from: number, to: number): void;
  /** A store on it; the options of the client are merged in. */
  storeOf(options?: RedisStoreOptions, client?: object): RedisStore;
}

/** Runs a test on a cluster of fake servers that share the slots, and stops all. */
export async function withFakeCluster(
  count: number,
  test: (cluster: FakeCluster) => Promise<void>,
): Promise<void> {
  const nodes = await Promise.all(Array.from({ length: count }, () => startFakeRedis()));
  const owners = new Array<FakeRedis>(SLOTS).fill(nodes[0]!);
  const stores: RedisStore[] = [];

  function give(node: FakeRedis, from: number, to: number): void {
    owners.fill(node, from, to + 1);
    const ranges = rangesOf(owners);
    for (const { state } of nodes) state.slots = ranges;
  }

  for (const [index, node] of nodes.entries()) {
    give(node, Math.floor(SLOTS * index / count), Math.floor(SLOTS * (index + 1) / count) - 1);
    node.state.elsewhere = (command) => {
      const key = keysOf(command)[0];
      if (key === undefined) return undefined;
      const slot = hashSlot(key);
      const owner = owners[slot]!;
      return owner === node ? undefined : new Error(`MOVED ${slot} ${addressOf(owner)}`);
    };
  }

  try {
    await test({
      nodes,
      give,
      storeOf(options, client) {
        const rootNodes = nodes.map(({ url }) => ({ url }));
        const cluster = newCluster({ rootNodes, ...client });
        const store = redisStore(cluster, { ...PATIENT, ...options });
        stores.push(store);
        return store;
      },
    });
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

/** The address by which nodes name a node. */
export function addressOf({ port }: FakeRedis): string {
  return `127.0.0.1:${port}`;
}

/** The reply to CLUSTER SLOTS. */
function rangesOf(owners: readonly FakeRedis[]) {
  const ranges: [number, number, [string, number, string]][] = [];
  for (const [slot, { port }] of owners.entries()) {
    const last = ranges.at(-1);
    if (last !== undefined && last[2][1] === port) last[1] = slot;
    else ranges.push([slot, slot, ["127.0.0.1", port, String(port)]]);
  }
  return ranges;
}

function keysOf([name = "", ...args]: readonly string[]): readonly string[] {
  if (name === "WATCH" || name === "MGET") return args;
  if (name === "EVAL" || name === "EVALSHA") return args.slice(2, 2 + Number(args[1]));
  return [];
}
