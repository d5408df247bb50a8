/*
 * Finds a client's address behind proxies. Clients can send forwarding fields themselves, so only
 * what trusted proxies appended is believed.
 */

import { typeError } from "../../../core/options/checks.ts";
import { hopsOfForwarded, hopsOfList } from "./forwarded_hops.ts";
import { type Address, formatAddress, parseAddress } from "./ip_address.ts";
import { trustedProxies } from "./trusted_proxies.ts";

/** The sources that are believed about the address of a client. */
export interface ForwardingOptions {
  /**
   * The proxies in front of the server: addresses, networks (`10.0.0.0/8`), or `loopback`,
   * `linklocal`, `uniquelocal`. Only these proxies are believed, and they must name the client: if
   * one of them passes a request on without the client's address, the address is unknown. Default
   * none.
   */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * The field that the proxies write: `"x-forwarded-for"` (default), `"forwarded"`, or another
   * field that holds one address or a list of addresses. No other field is read. It needs
   * `trustedProxies`.
   */
  readonly forwardedHeader?: string | undefined;
}

/**
 * Finds the address of a client from the address of the socket and the text of the field;
 * `undefined` if it is not known.
 */
export type ClientAddress = (peer: string, field: string | null | undefined) => string | undefined;

const FIELD_NAME_REGEXP = /^[!#$%&'*+\-.^_`|~\w]+$/;

/**
 * Makes the function that finds the client's address.
 *
 * It starts with the address of the socket. As long as the address at hand is a trusted proxy's,
 * the next entry of the field from the right replaces it. So a client that sends the field itself
 * gains nothing by it. If all entries are trusted proxies, the left-most one is the client.
 *
 * The client is unknown if a trusted proxy does not name it: the field is missing or empty, the
 * next entry is not an address (`unknown`, `_hidden`), or the client would be beyond the 32 entries
 * and 4,096 characters of the field that are read. The proxy's own address cannot be used, because
 * all clients would share it.
 *
 * It never throws. The time it takes is linear in what is read.
 *
 * @throws {TypeError} If an entry of `trustedProxies` is neither an address nor a network, or
 * `forwardedHeader` is not the name of a field, or is given without `trustedProxies`.
 *
 * @example
 * ```ts
 * import { clientAddress } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const addressOf = clientAddress({ trustedProxies: ["10.0.0.0/8"] });
 * assert.equal(addressOf("10.0.0.2", "6.6.6.6, 203.0.113.7, 10.0.0.5"), "203.0.113.7");
 * assert.equal(addressOf("10.0.0.2", "203.0.113.7, unknown"), undefined);
 * assert.equal(addressOf("198.51.100.9", "6.6.6.6"), "198.51.100.9"); // no proxy of ours
 * ```
 */
export function clientAddress(options: ForwardingOptions = {}): ClientAddress {
  const trusts = trustedProxies(options.trustedProxies ?? []);
  const hopsOf = forwardedField(options) === "forwarded" ? hopsOfForwarded : hopsOfList;

  return function addressOf(peer, field) {
    const socket = parseAddress(peer);
    const client = socket && clientBehind(socket, hopsOf(field ?? ""), trusts);
    return client && formatAddress(client);
  };
}

/**
 * The name of the field that proxies write, in lower case.
 *
 * @throws {TypeError} If `forwardedHeader` is not the name of a field, or no proxies are trusted.
 */
export function forwardedField({ trustedProxies, forwardedHeader }: ForwardingOptions): string {
  const action = "tell clients apart";
  if (forwardedHeader === undefined) return "x-forwarded-for";
  if (typeof forwardedHeader !== "string" || !FIELD_NAME_REGEXP.test(forwardedHeader)) {
    const rule = "forwardedHeader must be the name of a header field";
    throw typeError(action, rule, forwardedHeader);
  }
  if (trustedProxies === undefined) {
    const rule = "forwardedHeader needs trustedProxies: only they may report addresses";
    throw typeError(action, rule, trustedProxies);
  }
  return forwardedHeader.toLowerCase();
}

/**
 * The first address from the right that is not a trusted proxy's; the left-most if all belong to
 * trusted proxies.
 */
function clientBehind(
  peer: Address,
  hops: Iterable<string>,
  trusts: (address: Address) => boolean,
): Address | undefined {
  if (!trusts(peer)) return peer;
  let client: Address | undefined;
  for (const hop of hops) {
    client = parseAddress(hop);
    if (client === undefined || !trusts(client)) break;
  }
  return client;
}
