/*
 * Loads the package `redis` when it is needed. Its types appear in this file only, which no entry
 * point's types lead to, so an application can be compiled without the package.
 */

import { loadPackage } from "../optional_packages/load_package.ts";

/**
 * Loads the package `redis`.
 *
 * @throws {Error} If the package is not installed; the message names the command that installs it.
 */
export function loadRedis(): Promise<typeof import("redis")> {
  return loadPackage({
    name: "redis",
    action: "use Redis",
    since: "5.1",
    load: () => import("redis"),
    // redisStore and redisSource check the client.
    isRecent: () => true,
  });
}
