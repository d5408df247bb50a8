import { spawnSync } from "node:child_process";
import process from "node:process";
import fc from "fast-check";
import { createClient } from "redis";

import {
  algorithmLaws,
  type Law,
  law,
  limiterLaws,
  linearization,
  type MakeStore,
  storeLaws,
  subjects,
} from "../../adapters/testing/testing.ts";
import { limiterOn } from "../../core/limiter/limiter.ts";
import { memoryStore } from "../../stores/memory/memory_store.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { attachSharedStore, sharedStore } from "../../stores/shared/shared_store.ts";
import { startWorkers } from "../stores/shared/support/workers.ts";
import { storesInTurn } from "../support/stores_in_turn.ts";
import type { SeenCall } from "../stores/shared/support/jobs.ts";
import { memoryLaws } from "../stores/shared/support/memory_laws.ts";
import { fullStoreLaws } from "../stores/memory/support/full_store_laws.ts";
import { names, policy } from "../support/policies.ts";
import { windowLaws } from "../stores/shared/support/window_laws.ts";
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
    case "a full memoryStore":
      return { laws: fullStoreLaws, numRuns: 20, stop };
    case "redisStore by watch":
      return await onRedis("watch");
    case "redisStore by cas":
      return await onRedis("cas");
    case "redisStore by script":
      return await onRedis("script");
    case "sharedStore":
      return { laws: storeLaws(handlesInTurn), numRuns: 100, stop };
    case "memory of a sharedStore":
      return { laws: memoryLaws, numRuns: 200, stop };
    case "windows of a sharedStore":
      return { laws: windowLaws, numRuns: 100, stop };
    case "threads on a sharedStore":
      return await onThreads();
    default:
      return isFile(name)
        ? { laws: [testsIn(name)], numRuns: 1, stop }
        : { laws: algorithmLaws(subjects[name]()), numRuns: 100, stop };
  }
}

function isFile(name: SuiteName): name is `tests/${string}.test.ts` {
  return name.endsWith(".test.ts");
}

/** A file of tests as a law. */
function testsIn(file: string): Law {
  const passes = () => {
    const { status } = spawnSync(process.execPath, ["--test", file], { stdio: "ignore" });
    return status === 0;
  };
  return law(`the tests in ${file}`, fc.property(fc.constant(file), passes));
}

/** Two connections to a server of their own, which take turns. */
async function onRedis(commit: "watch" | "cas" | "script"): Promise<Suite> {
  const redis = await startRedis();
  const store = () => redisStore(createClient({ url: redis.url }), { commit, deadline: 5_000 });
  return {
    laws: storeLaws(() => storesInTurn([store(), store()]), { reuse: true }),
    numRuns: 40,
    stop: () => redis.stop(),
  };
}

/** Two handles on a memory so small that keys meet in one bucket. */
const handlesInTurn: MakeStore = () => {
  const store = sharedStore({ capacity: 24 });
  return storesInTurn([store, attachSharedStore(store.handle)]);
};

/** Worker threads on one memory, at the same time. */
async function onThreads(): Promise<Suite> {
  const store = sharedStore({ capacity: 4_000 });
  const workers = await startWorkers(store, 3);
  const name = fc.constantFrom(...names);
  // Few: what matters is who comes first to a new key.
  const fewOrMany = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) },
    { weight: 1, arbitrary: fc.integer({ min: 200, max: 2_000 }) },
  );
  let round = 0;
  const laws = [
    law(
      "threads on one key are admitted exactly the limit",
      fc.asyncProperty(name, fewOrMany, async (name, limit) => {
        const key = `hot ${round++}`;
        const admitted = await workers.run<number>(3, () => {
          return { kind: "hammer", policy: name, limit, key };
        });
        return admitted.reduce((a, b) => a + b) === policy(name, limit).capacity;
      }),
    ),
    law(
      "what threads saw of a key is explained by calls one after another",
      fc.asyncProperty(name, fc.integer({ min: 3, max: 60 }), async (name, limit) => {
        const key = `recorded ${round++}`;
        const seen = await workers.run<SeenCall[]>(3, () => {
          return { kind: "record", policy: name, limit, key, calls: 60, isMoving: false };
        });
        return linearization(policy(name, limit), seen.flat()) !== undefined;
      }),
    ),
    law(
      "calls on several keys at once are all or nothing, and meet single calls",
      fc.asyncProperty(fc.integer({ min: 200, max: 2_000 }), async (limit) => {
        const keys = [`left ${round}`, `right ${round++}`] as const;
        const admitted = await workers.run<number[]>(3, () => ({ kind: "pairs", limit, keys }));
        const sum = (index: number) => admitted.reduce((all, own) => all + own[index]!, 0);
        return sum(0) + sum(1) === limit && sum(0) + sum(2) === limit;
      }),
    ),
  ];
  return { laws, numRuns: 300, stop: () => workers.stop() };
}
