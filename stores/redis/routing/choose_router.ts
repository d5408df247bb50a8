import { errorMessage } from "../../../core/options/checks.ts";
import type { NodeRedisCluster } from "../clients/cluster_dial.ts";
import { clusterRouter } from "./cluster_router.ts";
import type { Commit } from "../connections/node_connection.ts";
import {
  dialClient,
  dialPool,
  type NodeRedisClient,
  type NodeRedisPool,
} from "../clients/node_redis.ts";
import { type NodeRedisSentinel, sentinelDial } from "../clients/node_redis_sentinel.ts";
import type { Router } from "./router.ts";
import { singleRouter } from "./single_router.ts";
import type { StoreContext } from "../store_context.ts";

/** What `redisStore` takes: any client of node-redis. */
export type RedisClient = NodeRedisClient | NodeRedisPool | NodeRedisCluster | NodeRedisSentinel;

/**
 * The way of calls to the servers behind a client.
 *
 * @throws {TypeError} If it is no client of node-redis 6, or one with a `keyPrefix`.
 */
export function chooseRouter(
  client: RedisClient,
  commit: Commit | "auto",
  parts: StoreContext,
): Router {
  const has = (name: string) => typeof client === "object" && client !== null && name in client;
  requireNoPrefix(client);
  if (has("getSlotRandomNode")) return clusterRouter(client as NodeRedisCluster, commit, parts);
  if (has("getMasterNode")) {
    return singleRouter(sentinelDial(client as NodeRedisSentinel), commit, parts);
  }
  if (has("totalClients")) return singleRouter(dialPool(client as NodeRedisPool), commit, parts);
  if (has("duplicate") && has("sendCommand")) {
    return singleRouter(dialClient(client as NodeRedisClient), commit, parts);
  }
  const rule = 'it needs a client, pool, cluster or sentinel client of node-redis 6 ("redis")';
  throw new TypeError(errorMessage("create redisStore", rule, client));
}

/** Requires that keys are what the store makes them; node-redis adds no prefix to raw commands. */
function requireNoPrefix(client: RedisClient): void {
  const { _keyPrefix, options } = (client ?? {}) as {
    readonly _keyPrefix?: string;
    readonly options?: { readonly keyPrefix?: string };
  };
  const prefix = _keyPrefix ?? options?.keyPrefix ?? "";
  if (prefix === "") return;
  const rule = "the client must have no keyPrefix (a limiter has a prefix of its own)";
  throw new TypeError(errorMessage("create redisStore", rule, prefix));
}
