import { loadPackage } from "../packages/load_package.ts";

/**
 * The package `redis`. Its types stand in a file of their own, which no entry point's types lead to:
 * those must do without the package.
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
