/*
 * Recognizes the library of a client, and chooses the way from calls to its servers. No other file
 * knows all kinds of clients.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { clientError, has } from "../clients/unsupported_clients.ts";
import type { ClusterDials, Dial } from "../clients/connection.ts";
import { type BunRedisClient, dialBunClient } from "../clients/bun_client.ts";
import { dialIoRedis, type IoRedisClient, ioRedisClusterDials } from "../clients/ioredis.ts";
import { dialSender, type RedisSender } from "../clients/sender.ts";
import { clusterDials, type NodeRedisCluster } from "../clients/node_redis_cluster.ts";
import { clusterRouter } from "./cluster_router.ts";
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

/** The clients that `redisStore` takes. */
export type RedisClient =
  | NodeRedisClient
  | NodeRedisPool
  | NodeRedisCluster
  | NodeRedisSentinel
  | IoRedisClient
  | BunRedisClient
  | RedisSender;

/**
 * The router to the servers behind a client.
 *
 * @throws {TypeError} If the client is not supported, has a `keyPrefix`, or cannot watch keys
 * although the options ask for it.
 */
export function chooseRouter(client: RedisClient, context: StoreContext): Router {
  const kind = KINDS.find(({ sign }) => has(client, sign));
  if (kind?.uses.every((member) => has(client, member)) !== true) {
    throw clientError("create redisStore", RULE, client);
  }
  requireNoPrefix(client);
  requireNoLegacyMode(client);
  const { dials, dial, cluster = "" } = kind;
  if (dial === undefined) {
    return clusterRouter(dials!(client as never, context.connectDeadline), context);
  }
  if (dial === dialSender && context.commit === "watch") {
    const rule = 'commit must be "script", "cas" or "auto" with a client that cannot watch keys';
    throw new TypeError(errorMessage("create redisStore", rule, context.commit));
  }
  return singleRouter(dial(client as never), context, cluster);
}

const RULE = "the client must come from node-redis 4 or later, from ioredis 5 or iovalkey, be a " +
  "RedisClient of Bun, or have a function send";

const CREATE_CLUSTER = "for a cluster the client must come from createCluster of node-redis";
const IOREDIS_CLUSTER = "for a cluster the client must be a Redis.Cluster of ioredis";
const OWN_MAP = "it must bring each command to the node that has its slot";

/** The facts about a kind of client. */
interface ClientKind {
  /** The member by which it is recognised. The first kind with such a member counts. */
  readonly sign: string;
  /** The other members that the store uses. */
  readonly uses: readonly string[];
  /** Dials with its options. */
  readonly dial?: (client: never) => Dial;
  /** Dials the nodes of its cluster, if it is one. */
  readonly dials?: (client: never, timeout: number) => ClusterDials;
  /** The advice of an error if the server is a node of a cluster. */
  readonly cluster?: string;
}

const KINDS: readonly ClientKind[] = [
  { sign: "getSlotRandomNode", uses: ["duplicate"], dials: clusterDials },
  { sign: "getMasterNode", uses: ["_execute"], dial: sentinelDial, cluster: CREATE_CLUSTER },
  { sign: "totalClients", uses: ["execute"], dial: dialPool, cluster: CREATE_CLUSTER },
  { sign: "startupNodes", uses: ["duplicate", "natMapper"], dials: ioRedisClusterDials },
  {
    sign: "status",
    uses: ["call", "sendCommand", "duplicate"],
    dial: dialIoRedis,
    cluster: IOREDIS_CLUSTER,
  },
  {
    sign: "sendCommand",
    uses: ["duplicate", "isReady"],
    dial: dialClient,
    cluster: CREATE_CLUSTER,
  },
  {
    sign: "onclose",
    uses: ["send", "duplicate", "connect"],
    dial: dialBunClient,
    cluster: CREATE_CLUSTER,
  },
  { sign: "send", uses: [], dial: dialSender, cluster: OWN_MAP },
];

/** In legacy mode a client of node-redis 4 returns no promises. */
function requireNoLegacyMode(client: RedisClient): void {
  const { options } = client as { readonly options?: { readonly legacyMode?: unknown } };
  if (!options?.legacyMode) return;
  const rule = "the client must not have the option legacyMode";
  throw new TypeError(errorMessage("create redisStore", rule, options.legacyMode));
}

/** Requires a client that leaves keys unchanged. node-redis adds no prefix to raw commands. */
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
