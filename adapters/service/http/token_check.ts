/*
 * Who may change anything: where the service has a token, whoever brings it, over HTTP or gRPC.
 */

import { errorMessage } from "../../../core/toolkit.ts";

/** Whether a call brings the token; `field` reads a header field or metadata by its name. */
export type TokenCheck = (field: (name: string) => string | null | undefined) => boolean;

/** A header field can hold these, and hands them on as they are. */
const SECRET_REGEXP = /^[\x20-\x7e]+$/;
const BEARER_REGEXP = /^bearer +(.*)$/i;

/**
 * Makes what looks for the token: `Authorization: Bearer ...` or `X-Tidegate-Token: ...`.
 *
 * @param token The token; without it every call may write.
 * @throws {TypeError} If the token is empty, as whoever sets one means to shut others out, or cannot
 * stand in a header field.
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
    const given = field("x-tidegate-token") ??
      BEARER_REGEXP.exec(field("authorization") ?? "")?.[1];
    return isSameSecret(given?.trim() ?? "", secret);
  };
}

/** Whether two secrets are the same; it takes as long wherever they differ. */
function isSameSecret(given: string, secret: string): boolean {
  let difference = given.length ^ secret.length;
  for (let place = 0; place < secret.length; place++) {
    difference |= (given.charCodeAt(place) || 0) ^ secret.charCodeAt(place);
  }
  return difference === 0;
}
