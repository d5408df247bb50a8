import { formatValue } from "../../../core/options/checks.ts";

/** Clients that node-redis 5.1 and later is asked for, by what they have, and what they lack. */
const UNSUPPORTED: readonly (readonly [name: string, has: readonly string[], lacks: string])[] = [
  ["a client of ioredis or iovalkey", ["status", "sendCommand"], "destroy"],
  ["a RedisClient of Bun", ["send", "duplicate"], "sendCommand"],
  ["a client of node-redis 4 or older", ["sendCommand", "duplicate"], "destroy"],
  ["a sentinel client of node-redis 5", ["getMasterNode"], "duplicate"],
  ["a cluster client of node-redis 5.0", ["getSlotRandomNode"], "_options"],
];

/** The name of a client that the store cannot use; `undefined` if it is not a known one. */
export function unsupportedName(client: unknown): string | undefined {
  return UNSUPPORTED.find(([, members, lacks]) =>
    members.every((member) => has(client, member)) && !has(client, lacks)
  )?.[0];
}

/** The error of a client that cannot be used: as `errorMessage`, but it names the client. */
export function clientError(action: string, rule: string, client: unknown): TypeError {
  const given = unsupportedName(client) ?? formatValue(client);
  return new TypeError(`Cannot ${action} as ${rule}: current value is ${given}`);
}

/** Whether a client has a member of a name. */
export function has(client: unknown, member: string): boolean {
  return typeof client === "object" && client !== null && member in client;
}
