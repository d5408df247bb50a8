import type { Commit } from "./node_connection.ts";
import type { Router } from "./router.ts";
import type { StoreParts } from "./store_parts.ts";

/** A node-redis cluster client; `createCluster` returns it. */
export interface NodeRedisCluster {
  /** The client of the node that has a key's slot. */
  getNodeClientForKey(key: string): unknown;
  /** Makes another cluster client with the same options, but for those given. */
  duplicate(overrides?: never): unknown;
}

/** Brings each call to the node that has its slot. */
export function clusterRouter(
  _cluster: NodeRedisCluster,
  _commit: Commit | "auto",
  _parts: StoreParts,
): Router {
  throw new Error("not yet");
}
