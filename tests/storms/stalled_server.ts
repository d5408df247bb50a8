import { setTimeout as wait } from "node:timers/promises";

import { ContentionError, gcra, limiter } from "../../mod.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { newClient } from "../support/redis/new_client.ts";
import { startRedis } from "../support/redis/redis_process.ts";
import { pacedCalls } from "./paced_calls.ts";
import type { Row, Storm } from "./storm.ts";

const MODES = ["script", "cas", "watch"] as const;
/** The stores that compete for one key, so that calls lose races. */
const STORES = 4;

/**
 * A server that stands still for 600 ms while several stores compete for one key. With
 * `onUnavailable: "deny"` every call is answered, within its `timeout` of 250 ms.
 */
export const stalledServer: Storm = {
  name: "stalled server",
  async run() {
    const rows: Row[] = [];
    const redis = await startRedis();
    for (const commit of MODES) {
      const stores = Array.from(
        { length: STORES },
        () => redisStore(newClient(redis.url), { commit, onUnavailable: "deny" }),
      );
      const apis = stores.map((store) =>
        limiter(gcra({ limit: 1_000_000, period: "1h", burst: 1_000_000 }), {
          store,
          prefix: commit,
        })
      );
      await Promise.all(apis.map((api) => api.consume("hot")));
      const calls = pacedCalls(2_000, 3_000, (index) => apis[index % STORES]!.consume("hot"));
      for (let stall = 0; stall < 2; stall++) {
        await wait(300);
        redis.signal("SIGSTOP");
        await wait(600);
        redis.signal("SIGCONT");
      }
      const { errors, longest, ...outcome } = await calls;
      rows.push({
        by: commit,
        calls: outcome.calls,
        "longest call": Math.round(longest),
        "ContentionErrors": errors.filter((error) => error instanceof ContentionError).length,
        "other errors": errors.filter((error) => !(error instanceof ContentionError)).length,
      });
      await Promise.all(stores.map((store) => store.close()));
    }
    await redis.stop();
    return rows;
  },
};
