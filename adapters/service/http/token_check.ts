/*
 * Who may change anything: where the service has a token, whoever brings it, over HTTP or gRPC.
 */

import { errorMessage } from "../../../core/toolkit.ts";

/** Whether a call brings the token; `field` reads a header field or metadata by its name. */
export type TokenCheck = (field: (name: string) => string | null | undefined) => boolean;

/**
 * Makes what looks for the token: `Authorization: Bearer ...` or `X-Tidegate-Token: ...`.
 *
 * @param token The token; without it every call may write.
 * @throws {TypeError} If the token is empty: whoever sets one means to shut others out.
 */
export function tokenCheck(token: string | undefined): TokenCheck {
  if (token === undefined) return () => true;
  if (typeof token !== "string" || token === "") {
    throw new TypeError(errorMessage("serve", "token must be text that is not empty", token));
  }
  const proof = `Bearer ${token}`;
  return function mayWrite(field) {
    const own = field("x-tidegate-token");
    return own === null || own === undefined
      ? isSameSecret(field("authorization") ?? "", proof)
      : isSameSecret(own, token);
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
