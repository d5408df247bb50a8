/*
 * Makes the service's store on Redis from plain settings: a configuration file or command line can
 * give a URL, but no client.
 */

import type { AsyncStore } from "../../mod.ts";
import { type RedisClient, redisStore } from "../../stores/redis/redis_store.ts";
import { loadRedis } from "./load_redis.ts";

/** How the service uses Redis. */
export interface RedisOptions {
  /** The server: `redis://host:port`. */
  readonly url: string;
  /** How calls are decided when Redis does not answer; default `"throw"`, which answers 503. */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /** The most milliseconds that one round trip may take; default 200. */
  readonly deadline?: number | undefined;
}

/**
 * A store on Redis with a client of its own, by the package `redis`.
 *
 * @param onError Receives errors of the connection, which is reopened automatically.
 * @throws {Error} If the package is not installed; the message names the command that installs it.
 */
export async function storeOnRedis(
  { url, onUnavailable = "throw", deadline }: RedisOptions,
  onError: (error: unknown) => void,
): Promise<AsyncStore> {
  const { createClient } = await loadRedis();
  const client = createClient({ url });
  client.on("error", onError);
  return redisStore(client as unknown as RedisClient, {
    onUnavailable,
    deadline,
    onOutage: ({ cause }) => cause === undefined ? undefined : onError(cause),
  });
}
