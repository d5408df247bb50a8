import { after, before, describe } from "node:test";

import { needs } from "../program.ts";
import { type RedisProcess, startRedis } from "./redis_process.ts";

/** Tests that share one redis-server. */
export function withRedis(name: string, tests: (redis: () => RedisProcess) => void): void {
  const { skip } = needs("redis-server");
  describe(name, { skip }, () => {
    let redis: RedisProcess | undefined;
    before(async () => {
      if (!skip) redis = await startRedis();
    });
    after(async () => {
      await redis?.stop();
    });
    tests(() => redis!);
  });
}
