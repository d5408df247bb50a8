import { formatValue } from "../../../core/options/checks.ts";

/** The kinds of clients that the store can use. */
export type ClientKind =
  | "cluster"
  | "sentinel"
  | "pool"
  | "client"
  | "ioredis"
  | "ioredis cluster"
  | "bun"
  | "sender";

/** What each kind is recognised by, and what else the store uses of it. The first match counts. */
const KINDS: readonly (readonly [kind: ClientKind, sign: string, uses: readonly string[]])[] = [
  ["cluster", "getSlotRandomNode", ["duplicate"]],
  ["sentinel", "getMasterNode", ["_execute"]],
  ["pool", "totalClients", ["execute"]],
  ["ioredis cluster", "startupNodes", ["call", "status", "duplicate"]],
  ["ioredis", "status", ["call", "sendCommand", "duplicate"]],
  ["client", "sendCommand", ["duplicate", "isReady"]],
  ["bun", "onclose", ["send", "duplicate", "connect"]],
  ["sender", "send", []],
];

/** Clients that node-redis 5.1 and later is asked for, by what they have, and what they lack. */
const UNSUPPORTED: readonly (readonly [name: string, has: readonly string[], lacks: string])[] = [
  ["a client of ioredis or iovalkey", ["status", "sendCommand"], "destroy"],
  ["a RedisClient of Bun", ["send", "duplicate"], "sendCommand"],
  ["a client of node-redis 4 or older", ["sendCommand", "duplicate"], "destroy"],
  ["a sentinel client of node-redis 5", ["getMasterNode"], "duplicate"],
  ["a cluster client of node-redis 5.0", ["getSlotRandomNode"], "_options"],
];

/** The kind of a client; `undefined` if the store cannot use it. */
export function kindOf(client: unknown): ClientKind | undefined {
  const found = KINDS.find(([, sign]) => has(client, sign));
  return found?.[2].every((member) => has(client, member)) === true ? found[0] : undefined;
}

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

function has(client: unknown, member: string): boolean {
  return typeof client === "object" && client !== null && member in client;
}
