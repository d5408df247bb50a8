/*
 * The client among forwarded addresses. Each proxy appends the address that it was called from, and
 * a client may write the rest itself. So the client is the right-most address that is neither
 * private nor a named proxy's: the one that the site's outermost proxy saw.
 */

import { errorMessage } from "../../../core/application_support.ts";
import { addressKey, clientAddress } from "../../http/http.ts";

/** Networks that hold proxies, not clients. */
const PRIVATE: readonly string[] = ["loopback", "linklocal", "uniquelocal"];

/** The client in a column that holds an address, or a list of addresses. */
export interface ClientOfList {
  /** The client's address, as the column has it. */
  clientOf(list: string): string;
  /** The client's key: its address, or the network of an IPv6 address; a name stays as it is. */
  keyOf(list: string): string;
  /** Whether all addresses are private or proxies', so that the client may stand elsewhere. */
  hasOnlyProxies(list: string): boolean;
}

/**
 * Makes the reader of addresses.
 *
 * @param network Bits of an IPv6 address that distinguish clients.
 * @param proxies The site's own proxies, as `trustedProxies` of the HTTP adapters names them.
 * @throws {TypeError} If one of them is neither an address nor a network.
 */
export function clientOfList(network: number, proxies: readonly string[]): ClientOfList {
  for (const proxy of proxies) {
    try {
      clientAddress({ trustedProxies: [proxy] });
    } catch {
      const rule = "proxies must hold addresses and networks, such as 10.0.0.0/8";
      throw new TypeError(errorMessage("read a log", rule, proxy));
    }
  }
  const addressOf = clientAddress({ trustedProxies: [...PRIVATE, ...proxies] });

  function clientOf(list: string): string {
    const comma = list.lastIndexOf(",");
    if (comma === -1) return list;
    // IIS writes a plus for a space.
    const spaced = list.replaceAll("+", " ");
    const last = spaced.slice(comma + 1).trim();
    if (addressKey(last) === undefined) return list;
    return addressOf(last, spaced.slice(0, comma)) ?? last;
  }

  return {
    clientOf,
    keyOf(list) {
      const client = clientOf(list);
      return addressKey(client, network) ?? client;
    },
    hasOnlyProxies(list) {
      const client = clientOf(list);
      // Without a list, the client behind a proxy is unknown.
      return addressKey(client) !== undefined && addressOf(client, "") === undefined;
    },
  };
}

/** Whether a text is an address, or a list that ends in one: a client may write what is before it. */
export function isAddressList(text: string): boolean {
  const last = text.slice(text.lastIndexOf(",") + 1).replaceAll("+", " ");
  return addressKey(last.trim()) !== undefined;
}
