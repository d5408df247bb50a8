import { test } from "node:test";

import { permitsInStore } from "../../../adapters/testing/permit_laws.ts";
import { permitLaws, storeLaws } from "../../../adapters/testing/testing.ts";
import type { Algorithm } from "../../../mod.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { permitNetworks } from "../../support/permits/permit_network.ts";
import { drawn, fcOptions, isLong } from "../../support/seed.ts";
import { newClient } from "../../support/redis/new_client.ts";

// Seeds of the runtimes follow each other, so where all of them run this file, each has its own way.
for (const commit of drawn(["watch", "cas", "script"] as const)) {
  withRedis(`redisStore by ${commit}`, (redis) => {
    const make = () =>
      redisStore(newClient(redis().url), { commit, deadline: 5_000, timeout: 30_000 });
    for (const law of storeLaws(make, { reuse: true, writes: () => writesTo(redis().url) })) {
      test(`${commit}: ${law.name}`, () => law.run(fcOptions({ numRuns: 20 })));
    }
    for (const law of permitLaws(make)) {
      test(`${commit}: ${law.name}`, () => law.run(fcOptions({ numRuns: 10 })));
    }
    test(`${commit}: permits whose messages are lost, late and doubled are ids in a list`, async () => {
      await using store = make();
      const sendTo = (algorithm: Algorithm) => permitsInStore(store, algorithm);
      await permitNetworks(sendTo, { keys: 1, perKey: isLong() ? 2_000 : 150 });
    });
  });
}

/** How many writing commands the server has carried out, scripts included. */
async function writesTo(url: string): Promise<number> {
  const client = await newClient(url).connect();
  const statistics = await client.info("commandstats");
  await client.close();
  return [...statistics.matchAll(/^cmdstat_(?:set|del):calls=(\d+)/gm)]
    .reduce((sum, [, calls]) => sum + Number(calls), 0);
}
