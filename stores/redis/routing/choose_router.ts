import { errorMessage } from "../../../core/options/checks.ts";
import { clientError, kindOf } from "../clients/client_kind.ts";
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

/** What `redisStore` takes: any client of node-redis. */
export type RedisClient = NodeRedisClient | NodeRedisPool | NodeRedisCluster | NodeRedisSentinel;

/**
 * The way of calls to the servers behind a client.
 *
 * @throws {TypeError} If it is not a client of node-redis 5.1 or later, or has a `keyPrefix`.
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
  return singleRouter(DIALS[kind](client as never), commit, context);
}

const RULE = "the client must come from node-redis 5.1 or later, a sentinel client from 6.0 or " +
  "later (run npm install redis@6, and pass what createClient, createClientPool, createCluster or " +
  "createSentinel returns)";

const DIALS = { sentinel: sentinelDial, pool: dialPool, client: dialClient };

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
