/*
 * Parses the list of trusted proxies. It is strict, because a network that is read as too wide
 * would let clients choose their own addresses.
 */

import { typeError } from "../../../core/options/checks.ts";
import { type Address, isFour, maskAddress, parseAddress } from "./ip_address.ts";

/** Names for networks that commonly contain a site's own proxies. */
const NAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ["loopback", ["127.0.0.0/8", "::1/128"]],
  ["linklocal", ["169.254.0.0/16", "fe80::/10"]],
  ["uniquelocal", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]],
]);

interface Network {
  readonly start: Address;
  readonly prefix: number;
  readonly four: boolean;
}

/**
 * Reads a list of trusted proxies, and returns the test of whether an address is one of them.
 *
 * @param list Addresses, networks (`10.0.0.0/8`), or the names `loopback`, `linklocal` and
 * `uniquelocal`.
 * @throws {TypeError} If an entry is anything else.
 */
export function trustedProxies(list: readonly string[]): (address: Address) => boolean {
  const action = "trust proxies";
  if (!Array.isArray(list)) {
    throw typeError(action, "trustedProxies must be an array", list);
  }
  const networks = list.flatMap((entry) => NAMED.get(entry) ?? [entry]).map((entry) => {
    const network = typeof entry === "string" ? parseNetwork(entry) : undefined;
    if (network !== undefined) return network;
    const rule = "trustedProxies must hold addresses, networks such as 10.0.0.0/8, " +
      `or ${[...NAMED.keys()].join(", ")}`;
    throw typeError(action, rule, entry);
  });
  return (address) => networks.some((network) => holds(network, address));
}

/** Matches parts that an address may have and a network may not: brackets, a zone, a port. */
const MORE_REGEXP = /[[\]%]|\.\d+:/;

function parseNetwork(text: string): Network | undefined {
  const [address = "", length, ...more] = text.split("/");
  const parsed = MORE_REGEXP.test(address) ? undefined : parseAddress(address);
  if (parsed === undefined || more.length > 0) return undefined;
  const four = isFour(parsed);
  const bits = four && !address.includes(":") ? 32 : 128;
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const own = length === undefined ? bits : Number(length);
  if (own > bits || (four && bits === 128 && own < 96)) return undefined;
  const prefix = own + 128 - bits;
  return { start: maskAddress(parsed, prefix), prefix, four };
}

function holds({ start, prefix, four }: Network, address: Address): boolean {
  if (isFour(address) !== four) return false;
  return maskAddress(address, prefix).every((group, index) => group === start[index]);
}
