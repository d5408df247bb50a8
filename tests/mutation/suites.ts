import { createClient } from "redis";

import {
  algorithmLaws,
  type Law,
  limiterLaws,
  storeLaws,
  storesInTurn,
  subjects,
} from "../../adapters/testing/mod.ts";
import { limiterOn } from "../../core/limiter.ts";
import { memoryStore } from "../../stores/memory.ts";
import { redisStore } from "../../stores/redis.ts";
import { startRedis } from "../support/redis/redis_process.ts";
import type { SuiteName } from "./fault.ts";

/** Laws and how often each is tried. */
export interface Suite {
  readonly laws: readonly Law[];
  readonly numRuns: number;
  /** Ends what the laws ran on. */
  stop(): Promise<void>;
}

/** The laws of one thing, ready to run. */
export async function suiteOf(name: SuiteName): Promise<Suite> {
  const stop = () => Promise.resolve();
  switch (name) {
    case "limiter":
      return {
        laws: limiterLaws((algorithm, clock) =>
          limiterOn(algorithm, memoryStore(), "mutation", { clock })
        ),
        numRuns: 100,
        stop,
      };
    case "memoryStore":
      return { laws: storeLaws(() => memoryStore()), numRuns: 100, stop };
    case "redisStore by watch":
      return await onRedis("watch");
    case "redisStore by cas":
      return await onRedis("cas");
    default:
      return { laws: algorithmLaws(subjects[name]()), numRuns: 100, stop };
  }
}

/** Two connections to a server of their own, which take turns. */
async function onRedis(commit: "watch" | "cas"): Promise<Suite> {
  const redis = await startRedis();
  const store = () => redisStore(createClient({ url: redis.url }), { commit, deadline: 5_000 });
  return {
    laws: storeLaws(() => storesInTurn([store(), store()]), { reuse: true }),
    numRuns: 40,
    stop: () => redis.stop(),
  };
}
