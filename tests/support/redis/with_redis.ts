import { after, before, describe } from "node:test";

import { type RedisProcess, startRedis, WITHOUT_REDIS } from "./redis_process.ts";

/**
 * Tests that share one redis-server. They are left out only if the run asks for that, which its
 * summary says.
 */
export function withRedis(name: string, tests: (redis: () => RedisProcess) => void): void {
  describe(name, { skip: WITHOUT_REDIS }, () => {
    let redis: RedisProcess | undefined;
    before(async () => {
      if (!WITHOUT_REDIS) redis = await startRedis();
    });
    after(async () => {
      await redis?.stop();
    });
    tests(() => redis!);
  });
}
