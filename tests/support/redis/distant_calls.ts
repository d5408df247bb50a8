import { type Algorithm, limiter } from "../../../mod.ts";
import { redisStore, type RedisStoreOptions } from "../../../stores/redis/redis_store.ts";
import { startDelayingProxy } from "./delaying_proxy.ts";
import type { RedisProcess } from "./redis_process.ts";
import { newClient } from "./new_client.ts";

/** The outcomes of calls. */
export interface Calls {
  admitted: number;
  refused: number;
  /** How often each error came, by the name of its class. */
  readonly failed: Record<string, number>;
}

/** Calls a second of the store beside Redis, and of the one far away. */
export interface Rates {
  readonly near: number;
  readonly far: number;
}

/**
 * Has two stores take from one key: one beside the server, and one some milliseconds away.
 *
 * @param delay Milliseconds each way to the distant one.
 * @param duration Milliseconds that all of it takes.
 */
export async function distantCalls(
  redis: RedisProcess,
  algorithm: Algorithm,
  prefix: string,
  options: RedisStoreOptions,
  rates: Rates,
  delay: number,
  duration: number,
): Promise<{ readonly near: Calls; readonly far: Calls }> {
  const proxy = await startDelayingProxy(redis.port, delay);
  const stores = [redis.url, proxy.url].map((url) => redisStore(newClient(url), options));
  const [near, far] = stores.map((store) => limiter(algorithm, { store, prefix }));
  try {
    await Promise.all([near!.peek("warm up"), far!.peek("warm up")]);
    const paced = [near!, far!].map(async (api, index): Promise<Calls> => {
      const calls: Calls = { admitted: 0, refused: 0, failed: {} };
      const perMillisecond = (index === 0 ? rates.near : rates.far) / 1_000;
      const start = performance.now();
      const settled: Promise<void>[] = [];
      for (let left = duration; left > 0; left = start + duration - performance.now()) {
        const due = Math.floor((duration - left) * perMillisecond);
        while (settled.length < due) {
          settled.push(
            Promise.resolve(api.consume("shared")).then(({ allowed }) => {
              if (allowed) calls.admitted++;
              else calls.refused++;
            }, ({ name }) => {
              calls.failed[name] = (calls.failed[name] ?? 0) + 1;
            }),
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await Promise.all(settled);
      return calls;
    });
    const [one, other] = await Promise.all(paced);
    return { near: one!, far: other! };
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await proxy.stop();
  }
}
