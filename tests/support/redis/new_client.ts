import { createClient, type RedisClientType } from "redis";

/** The options of a connection. */
type Socket = NonNullable<NonNullable<Parameters<typeof createClient>[0]>["socket"]>;

let first: ReturnType<typeof createClient> | undefined;

/**
 * A client of node-redis for this server, not connected yet. Each `createClient` makes a class of all
 * commands of Redis anew, which takes Node and Deno up to 50 ms; duplicates share one.
 */
export function newClient(url: string, socket: Socket = {}): RedisClientType {
  first ??= createClient();
  // Without a socket of its own a duplicate would write its address into that of the first.
  return first.duplicate({ url, socket: { ...socket } }) as unknown as RedisClientType;
}
