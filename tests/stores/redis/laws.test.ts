import { test } from "node:test";
import { createClient } from "redis";

import { permitLaws, storeLaws } from "../../../adapters/testing/testing.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { fcOptions } from "../../support/seed.ts";

for (const commit of ["watch", "cas", "script"] as const) {
  withRedis(`redisStore by ${commit}`, (redis) => {
    const make = () =>
      redisStore(createClient({ url: redis().url }), { commit, deadline: 5_000, timeout: 30_000 });
    for (const law of storeLaws(make, { reuse: true, writes: () => writesTo(redis().url) })) {
      test(`${commit}: ${law.name}`, () => law.run(fcOptions({ numRuns: 20 })));
    }
    for (const law of permitLaws(make)) {
      test(`${commit}: ${law.name}`, () => law.run(fcOptions({ numRuns: 10 })));
    }
  });
}

/** How many writing commands the server has carried out, scripts included. */
async function writesTo(url: string): Promise<number> {
  const client = await createClient({ url }).connect();
  const statistics = await client.info("commandstats");
  await client.close();
  return [...statistics.matchAll(/^cmdstat_(?:set|del):calls=(\d+)/gm)]
    .reduce((sum, [, calls]) => sum + Number(calls), 0);
}
