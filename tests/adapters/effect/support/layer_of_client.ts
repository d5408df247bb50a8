import { Effect, Layer } from "effect";
import { Redis } from "effect/persistence";
import type { RedisClientType } from "redis";

/** Effect's `Redis` on a client of node-redis, as its packages for Node and Deno make it. */
export function layerOfClient(client: RedisClientType): Layer.Layer<Redis.Redis> {
  const send = <A>(command: string, ...args: readonly string[]) =>
    Effect.tryPromise({
      try: () => client.sendCommand([command, ...args]) as Promise<A>,
      catch: (cause) => new Redis.RedisError({ cause }),
    });
  return Layer.effect(
    Redis.Redis,
    Redis.make({ send, subscribe: () => Effect.never, connect: Effect.never }),
  );
}
