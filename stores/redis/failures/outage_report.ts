/*
 * Reports when a server stops answering, and when it answers again. Without a report nobody would
 * notice that a wrong password under `onUnavailable: "allow"` switches limits off, because the
 * policy answers all calls.
 */

import { firstPrinted, guarded } from "../../../core/guarded.ts";
import type { Outage } from "../../optimistic/circuit_breaker.ts";

/** The options of a store that concern outages. */
interface OutageOptions {
  readonly onOutage?: ((outage: Outage) => void) | undefined;
  readonly onUnavailable: "throw" | "allow" | "deny";
}

/** A server's replies to a client that it does not let in. */
const AUTHENTICATION_REGEXP = /^(NOAUTH|WRONGPASS|NOPERM)\b|invalid password/;

/** Makes the function that receives outages: the caller's, or one that prints refused passwords. */
export function outageReport(
  { onOutage, onUnavailable }: OutageOptions,
): (outage: Outage) => void {
  if (onOutage !== undefined) {
    const report = guarded(onOutage, firstPrinted());
    return (outage) => void report(outage);
  }
  let printed = false;
  return function print({ cause }) {
    if (printed || onUnavailable !== "allow" || cause === undefined) return;
    if (!AUTHENTICATION_REGEXP.test(cause.message)) return;
    printed = true;
    console.error(
      `Redis does not let this process in, so every call is admitted (onUnavailable: "allow"; ` +
        `set onOutage to learn of outages): ${cause.message}`,
    );
  };
}
