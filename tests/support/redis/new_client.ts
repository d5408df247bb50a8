import { createClient, type RedisClientType } from "redis";

/** The options of a connection. */
type Socket = NonNullable<NonNullable<Parameters<typeof createClient>[0]>["socket"]>;

let first: ReturnType<typeof createClient> | undefined;

/**
 * A client of node-redis for this server, not connected yet. Each `createClient` makes a class of all
 * commands of Redis anew; duplicates share one. A file that makes a client for each of its stores took
 * 7.3 s of processor time with a class for each, and 2.6 s with one.
 */
export function newClient(url: string, socket: Socket = {}): RedisClientType {
  first ??= createClient();
  // Without `socket` options of its own, a duplicate would write its address into the first client's.
  return first.duplicate({ url, socket: { ...socket } }) as unknown as RedisClientType;
}
