import { errorMessage } from "../../../core/toolkit.ts";
import { sameSecret } from "./same_secret.ts";

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
      ? sameSecret(field("authorization") ?? "", proof)
      : sameSecret(own, token);
  };
}
