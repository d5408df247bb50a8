/*
 * What a request may do: whether it brings the token, and whether a browser sent it for a page of
 * another site, which must not use up anybody's limits.
 */

import type { IncomingCall } from "./incoming_call.ts";
import { tokenCheck } from "./token_check.ts";

/** What requests may do. */
export interface RequestAccess {
  /** Whether it may change anything. */
  mayWrite(call: IncomingCall): boolean;
  /** Whether it is one of the service's own users: it may write, and was not lured here. */
  isOwn(call: IncomingCall): boolean;
  /**
   * Whether a browser sent it for a page of another site. A name that somebody else owns may lead to
   * this machine (DNS rebinding), and its pages are then of the same origin: so without a token a
   * browser must have come by an address, or by `localhost`.
   */
  isForeign(call: IncomingCall): boolean;
}

/** Makes the checks of requests, of a service with this token or without one. */
export function requestAccess(token: string | undefined): RequestAccess {
  const hasToken = token !== undefined;
  const isAllowed = tokenCheck(token);
  const mayWrite = ({ header }: IncomingCall) => isAllowed(header);
  return {
    mayWrite,
    isOwn: (call) => mayWrite(call) && (hasToken || isAddress(call.header("host") ?? "")),
    isForeign({ header }) {
      const origin = header("origin");
      if (origin === null) return false;
      if (!URL.canParse(origin)) return true;
      const { host } = new URL(origin);
      return host !== header("host") || !(hasToken || isAddress(host));
    },
  };
}

/** Whether a host, with its port or without, is an address or `localhost`. */
function isAddress(host: string): boolean {
  return /^(localhost|[0-9.]+|\[[0-9a-f:.]+\])(:\d+)?$/i.test(host);
}
