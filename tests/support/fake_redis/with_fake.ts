import { type AsyncLimiter, gcra, limiter } from "../../../mod.ts";
import {
  type RedisStore,
  redisStore,
  type RedisStoreOptions,
} from "../../../stores/redis/redis_store.ts";
import { type FakeRedis, startFakeRedis } from "./fake_redis.ts";
import { newClient } from "../redis/new_client.ts";

/** Limits that a slow machine does not reach, and outages that nobody has to read about. */
export const PATIENT = {
  deadline: 30_000,
  timeout: 30_000,
  connectDeadline: 5_000,
  onOutage() {},
};

/** A store on a fake server, and a limiter of 10 units that never come back within a test. */
export interface OnFake {
  readonly fake: FakeRedis;
  readonly store: RedisStore;
  readonly limiter: AsyncLimiter;
}

/** The stored key of a key of that limiter. */
export function storedKeyOf(key: string): string {
  return `api:{${key}}:gcra/1/86400000`;
}

/**
 * Runs a test on a fake server, by one connection unless the options say otherwise, and stops both.
 *
 * @param now The server's time; real time without it.
 */
export async function withFake(
  options: RedisStoreOptions,
  test: (on: OnFake) => Promise<void>,
  now?: () => number,
): Promise<void> {
  const fake = await startFakeRedis(now);
  const given = { ...PATIENT, connections: 1, ...options };
  const store = redisStore(newClient(fake.url), given);
  const algorithm = gcra({ limit: 1, period: "1d", burst: 10 });
  try {
    await test({ fake, store, limiter: limiter(algorithm, { store, prefix: "api" }) });
  } finally {
    await store.close();
    await fake.stop();
  }
}
