import { errorMessage } from "../../../core/options/checks.ts";
import { clientError, kindOf } from "../clients/client_kind.ts";
import { type BunRedisClient, dialBunClient } from "../clients/bun_client.ts";
import { dialIoRedis, dialIoRedisCluster, type IoRedisClient } from "../clients/ioredis.ts";
import { dialSender, type RedisSender } from "../clients/sender.ts";
import { hashSlot } from "./hash_slot.ts";
import type { NodeRedisCluster } from "../clients/cluster_dial.ts";
import { clusterRouter } from "./cluster_router.ts";
import type { Commit } from "../commit/choose_commit.ts";
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

/** What `redisStore` takes. */
export type RedisClient =
  | NodeRedisClient
  | NodeRedisPool
  | NodeRedisCluster
  | NodeRedisSentinel
  | IoRedisClient
  | BunRedisClient
  | RedisSender;

/**
 * The way of calls to the servers behind a client.
 *
 * @throws {TypeError} If it is none that can be used, has a `keyPrefix`, or cannot watch where the
 * options say that it should.
 */
export function chooseRouter(
  client: RedisClient,
  commit: Commit | "auto",
  context: StoreContext,
): Router {
  const kind = kindOf(client);
  if (kind === undefined) throw clientError("create redisStore", RULE, client);
  requireNoPrefix(client);
  if (kind === "cluster") return clusterRouter(client as NodeRedisCluster, commit, context);
  const cannotWatch = kind === "sender" || kind === "ioredis cluster";
  if (cannotWatch && commit === "watch") {
    const rule = 'commit must be "script", "cas" or "auto" with a client that cannot watch keys';
    throw new TypeError(errorMessage("create redisStore", rule, commit));
  }
  const [dialOf, clusterHint] = DIALS[kind];
  const router = singleRouter(dialOf(client as never), commit, context, clusterHint);
  return kind === "ioredis cluster" ? { ...router, slotOf: hashSlot } : router;
}

const RULE = "the client must come from node-redis 4 or later, from ioredis 5 or iovalkey, be a " +
  "RedisClient of Bun, or have a function send";

const CREATE_CLUSTER = "for a cluster the client must come from createCluster of node-redis";
const OWN_MAP = "it must bring each command to the node that has its slot";

/** How to dial with each kind of client, and what to do where it meets a node of a cluster. */
const DIALS = {
  sentinel: [sentinelDial, CREATE_CLUSTER],
  pool: [dialPool, CREATE_CLUSTER],
  client: [dialClient, CREATE_CLUSTER],
  ioredis: [dialIoRedis, "for a cluster the client must be a Redis.Cluster of ioredis"],
  "ioredis cluster": [dialIoRedisCluster, OWN_MAP],
  bun: [dialBunClient, CREATE_CLUSTER],
  sender: [dialSender, OWN_MAP],
} as const;

/** Requires that keys are what the store makes them; node-redis adds no prefix to raw commands. */
function requireNoPrefix(client: RedisClient): void {
  const { _keyPrefix, options } = client as {
    readonly _keyPrefix?: string;
    readonly options?: { readonly keyPrefix?: string };
  };
  const prefix = _keyPrefix ?? options?.keyPrefix ?? "";
  if (prefix === "") return;
  const rule = "the client must have no keyPrefix (a limiter has a prefix of its own)";
  throw new TypeError(errorMessage("create redisStore", rule, prefix));
}
