/*
 * Recognizes Redis clients by their members, so that an error names the client that it rejects,
 * and no client library has to be imported.
 */

import { formatValue } from "../../../core/options/checks.ts";

/** Clients that an error can name. Each is known by its members, and by a member that it lacks. */
const UNSUPPORTED: readonly (readonly [name: string, has: readonly string[], lacks: string])[] = [
  ["a client of ioredis or iovalkey", ["status", "sendCommand"], "destroy"],
  ["a RedisClient of Bun", ["send", "duplicate"], "sendCommand"],
  ["a client of node-redis 4 or older", ["sendCommand", "duplicate"], "destroy"],
  ["a sentinel client of node-redis 5", ["getMasterNode"], "duplicate"],
  ["a cluster client of node-redis 5.0", ["getSlotRandomNode"], "_options"],
];

/** The name of a rejected client in errors; `undefined` if the client is not known. */
export function unsupportedName(client: unknown): string | undefined {
  return UNSUPPORTED.find(([, members, lacks]) =>
    members.every((member) => has(client, member)) && !has(client, lacks)
  )?.[0];
}

/** The error for a client that cannot be used: like `errorMessage`, but it names the client. */
export function clientError(action: string, rule: string, client: unknown): TypeError {
  const given = unsupportedName(client) ?? formatValue(client);
  return new TypeError(`Cannot ${action} as ${rule}: current value is ${given}`);
}

/** Whether a client has a member of the given name. */
export function has(client: unknown, member: string): boolean {
  return typeof client === "object" && client !== null && member in client;
}
