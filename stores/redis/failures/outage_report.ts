/*
 * Reports when a server stops answering and when it answers again, beside the policy that answers calls
 * meanwhile: otherwise a wrong password under `onUnavailable: "allow"` would be a limit that is off, and
 * nobody would know.
 */

import { firstPrinted, guarded } from "../../../core/guarded.ts";
import type { Outage } from "../connections/circuit_breaker.ts";
import type { ReadOptions } from "../redis_options.ts";

/** What a server replies to somebody whom it does not let in. */
const AUTHENTICATION_REGEXP = /^(NOAUTH|WRONGPASS|NOPERM)\b|invalid password/;

/** Makes the function that receives outages: the caller's, or one that prints refused passwords. */
export function outageReport(
  { onOutage, onUnavailable }: Pick<ReadOptions, "onOutage" | "onUnavailable">,
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
