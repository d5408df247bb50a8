// Where the redis-server of the tests is. Called by the test runner and by tests alike.
import { ensureProgram } from "./programs.mjs";
import process from "node:process";

/**
 * The redis-server to start, installed if there is none; `undefined` if TIDEGATE_SKIP_REDIS=1
 * asks for the suite without Redis.
 * @returns {import("./programs.mjs").Program | undefined}
 */
export function redisServer() {
  if (process.env.TIDEGATE_SKIP_REDIS === "1") return undefined;
  return ensureProgram({
    program: "redis-server",
    variable: "REDIS_SERVER",
    debian: "redis-server",
  });
}
