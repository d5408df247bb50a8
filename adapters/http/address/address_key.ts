/*
 * Turns a client's address into its key. All spellings of an address, and all addresses that one
 * client commands, must give one key: otherwise the client could choose a fresh limit for itself.
 */

import { checkInteger } from "../../../core/options/checks.ts";
import { formatAddress, isFour, maskAddress, parseAddress } from "./ip_address.ts";

const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const FOUR_REGEXP: RegExp = new RegExp(`^(?:::ffff:)?(?:${BYTE}\\.){3}${BYTE}$`);
const MAPPED = "::ffff:";

/**
 * The key that stands for a client's address: an IPv4 address as it is, also where IPv6 maps it
 * (`::ffff:192.0.2.7`, in either spelling), and the network of an IPv6 address, because one client
 * commands a whole network of addresses.
 *
 * IPv4 clients that come through a translator (NAT64, `64:ff9b::/96`) are all in one such network,
 * so they share one key. Let the translator, or a proxy behind it, report their own addresses.
 *
 * @param address The address as text, perhaps with a port or a zone.
 * @param prefix Bits of an IPv6 address that count, 32 to 128; default 64. Some providers give
 * each customer 56.
 * @returns The key; `undefined` if the text is not an address.
 * @throws {RangeError} If `prefix` is out of range.
 *
 * @example
 * ```ts
 * import { addressKey } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * assert.equal(addressKey("::ffff:192.0.2.7"), "192.0.2.7");
 * assert.equal(addressKey("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
 * assert.equal(addressKey("unknown"), undefined);
 * ```
 */
export function addressKey(address: string, prefix = 64): string | undefined {
  checkPrefixLength("make an address key", prefix);
  return checkedAddressKey(address, prefix);
}

/** `addressKey` for a prefix length that was checked before. */
export function checkedAddressKey(address: string, prefix: number): string | undefined {
  // Most addresses are IPv4, often mapped by a socket that serves both. They need no parsing.
  if (FOUR_REGEXP.test(address)) {
    return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
  }
  return parsedKey(address, prefix);
}

function parsedKey(address: string, prefix: number): string | undefined {
  const parsed = parseAddress(address);
  if (parsed === undefined) return undefined;
  if (isFour(parsed)) return formatAddress(parsed);
  return `${formatAddress(maskAddress(parsed, prefix))}/${prefix}`;
}

/** Requires a length of IPv6 prefix that still distinguishes clients. */
export function checkPrefixLength(action: string, prefix: number): void {
  checkInteger(action, "ipv6Prefix", prefix, 32, 128);
}
