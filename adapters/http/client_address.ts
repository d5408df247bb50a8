import { hopsOfForwarded, hopsOfList } from "./forwarded_hops.ts";
import { type Address, formatAddress, parseAddress } from "./ip_address.ts";
import { trustedProxies } from "./trusted_proxies.ts";

/** Whom to believe about the address of a client. */
export interface ForwardingOptions {
  /**
   * The proxies in front of the server: addresses, networks (`10.0.0.0/8`), or `loopback`,
   * `linklocal`, `uniquelocal`. Only what these say is believed; default none.
   */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * The field that the proxies write: `"x-forwarded-for"` (default), `"forwarded"`, or another
   * that holds a list of addresses, or one. No other field is read.
   */
  readonly forwardedHeader?: string | undefined;
}

/** Answers the address of the client behind a peer: of the socket's address and the field's text. */
export type ClientAddress = (peer: string, field: string | null | undefined) => string | undefined;

/**
 * Makes the function that tells the client's address.
 *
 * It starts with the address of the socket. As long as the address at hand is a trusted proxy's, the
 * next entry of the field from the right takes its place; an entry that is no address ends the
 * walk. So a client that sends the field itself gains nothing by it.
 *
 * It looks at 32 entries and 4,096 characters of the field, and never throws.
 *
 * @throws {TypeError} If an entry of `trustedProxies` is neither an address nor a network.
 *
 * @example
 * ```ts
 * import { clientAddress } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const addressOf = clientAddress({ trustedProxies: ["10.0.0.0/8"] });
 * assert.equal(addressOf("10.0.0.2", "6.6.6.6, 203.0.113.7, 10.0.0.5"), "203.0.113.7");
 * assert.equal(addressOf("198.51.100.9", "6.6.6.6"), "198.51.100.9"); // no proxy of ours
 * ```
 */
export function clientAddress(options: ForwardingOptions = {}): ClientAddress {
  const { trustedProxies: list = [], forwardedHeader = "x-forwarded-for" } = options;
  const trusts = trustedProxies(list);
  const hopsOf = forwardedHeader.toLowerCase() === "forwarded" ? hopsOfForwarded : hopsOfList;

  return function addressOf(peer, field) {
    const socket = parseAddress(peer);
    return socket && formatAddress(field ? clientBehind(socket, hopsOf(field), trusts) : socket);
  };
}

function clientBehind(
  peer: Address,
  hops: Iterable<string>,
  trusts: (address: Address) => boolean,
): Address {
  let client = peer;
  if (!trusts(client)) return client;
  for (const hop of hops) {
    const next = parseAddress(hop);
    if (next === undefined) break;
    client = next;
    if (!trusts(client)) break;
  }
  return client;
}
