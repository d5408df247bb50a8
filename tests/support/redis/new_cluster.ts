import { createCluster } from "redis";

import { oneClass } from "./one_class.ts";

/** A cluster client of node-redis, not connected yet. */
export function newCluster(
  options: Parameters<typeof createCluster>[0],
): ReturnType<typeof createCluster> {
  return createCluster(oneClass(options));
}
