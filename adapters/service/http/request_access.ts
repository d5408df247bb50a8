/*
 * The rights of a request: whether it has the token, and whether a browser sent it for a page of
 * another site. Such a page must not use up limits.
 */

import { errorMessage } from "../../../core/application_support.ts";
import type { IncomingCall } from "./incoming_call.ts";

/** The checks of a request's rights. */
export interface RequestAccess {
  /** Whether it may change anything. */
  mayWrite(call: IncomingCall): boolean;
  /**
   * Whether it comes from one of the service's own users: it may write, and no other site caused
   * it.
   */
  isOwn(call: IncomingCall): boolean;
  /**
   * Whether a browser sent it for a page of another site. A host name that an attacker owns may
   * lead to this machine (DNS rebinding), and then the attacker's pages have the same origin. So
   * without a token, a browser must use an IP address or `localhost`.
   */
  isForeign(call: IncomingCall): boolean;
}

/** Makes the checks of requests for a service, with or without a token. */
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

/** Whether a call has the token; `field` reads a header field or metadata by its name. */
export type TokenCheck = (field: (name: string) => string | null | undefined) => boolean;

/** The characters that a header field can carry unchanged. */
const SECRET_REGEXP = /^[\x20-\x7e]+$/;
const BEARER_REGEXP = /^bearer +(.*)$/i;

/**
 * Makes the function that looks for the token: `Authorization: Bearer ...` or `X-Tidegate-Token: ...`.
 *
 * @param token The token; without a token every call may write.
 * @throws {TypeError} If the token is empty, because a token is set to shut others out, or if it
 * cannot stand in a header field.
 */
export function tokenCheck(token: string | undefined): TokenCheck {
  if (token === undefined) return () => true;
  // Files of secrets end with a line break.
  const secret = typeof token === "string" ? token.trim() : "";
  if (!SECRET_REGEXP.test(secret)) {
    const rule = "token must be printable ASCII text that is not empty";
    throw new TypeError(errorMessage("serve", rule, token));
  }
  return function mayWrite(field) {
    // A proxy may add its own field to the field of its client.
    const given = [
      field("x-tidegate-token"),
      BEARER_REGEXP.exec(field("authorization") ?? "")?.[1],
    ];
    return given.some((each) => isSameSecret(each?.trim() ?? "", secret));
  };
}

/** Whether two secrets are the same. The time does not depend on where they differ. */
function isSameSecret(given: string, secret: string): boolean {
  let difference = given.length ^ secret.length;
  for (let index = 0; index < secret.length; index++) {
    difference |= (given.charCodeAt(index) || 0) ^ secret.charCodeAt(index);
  }
  return difference === 0;
}
