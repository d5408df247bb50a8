import { gcra, limiter } from "../../mod.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { startDelayingProxy } from "../support/redis/delaying_proxy.ts";
import { newClient } from "../support/redis/new_client.ts";
import { startRedis } from "../support/redis/redis_process.ts";
import { type Outcome, pacedCalls, percentile } from "./paced_calls.ts";
import type { Row, Storm } from "./storm.ts";

const ROUND_TRIPS = [60, 140, 180, 230, 300];
const MODES = ["script", "cas", "watch"] as const;

/** A server that is far away: 100 calls a second for 3 seconds, with the default options. */
export const slowNetwork: Storm = {
  name: "slow network",
  async run() {
    const rows: Row[] = [];
    const redis = await startRedis();
    for (const roundTrip of ROUND_TRIPS) {
      const proxy = await startDelayingProxy(redis.port, roundTrip / 2);
      rows.push(rowOf(roundTrip, "INCR", await plainCalls(proxy.url), 0));
      for (const commit of MODES) {
        let outages = 0;
        const store = redisStore(newClient(proxy.url), {
          commit,
          onOutage: ({ state }) => void (outages += state === "began" ? 1 : 0),
        });
        const api = limiter(gcra({ limit: 1_000_000, period: "1h", burst: 1_000_000 }), {
          store,
          prefix: commit,
        });
        await api.consume("warm up").catch(() => {});
        outages = 0;
        const outcome = await pacedCalls(100, 3_000, (index) => api.consume(`${index % 50}`));
        rows.push(rowOf(roundTrip, commit, outcome, outages));
        await store.close();
      }
      await proxy.stop();
    }
    await redis.stop();
    return rows;
  },
};

async function plainCalls(url: string): Promise<Outcome> {
  const client = await newClient(url).connect();
  const outcome = await pacedCalls(100, 3_000, (index) => client.incr(`plain:${index % 50}`));
  client.destroy();
  return outcome;
}

function rowOf(roundTrip: number, by: string, outcome: Outcome, outages: number): Row {
  return {
    "round trip": roundTrip,
    by,
    calls: outcome.calls,
    failed: outcome.errors.length,
    "p50": percentile(outcome, 0.5),
    "p99": percentile(outcome, 0.99),
    outages,
  };
}
