/*
 * Reports when a server stops answering, and when it answers again. Without a report nobody would
 * notice that a wrong password under `onUnavailable: "allow"` switches limits off, because the
 * policy answers all calls.
 */

import { firstPrinted, guarded } from "../../core/guarded.ts";
import type { Outage } from "./circuit_breaker.ts";
import type { EngineOptions } from "./engine_options.ts";

/** The words for each policy of `onUnavailable`. */
const ANSWERS = { throw: "calls fail", allow: "calls are admitted", deny: "calls are refused" };

/**
 * Makes the function that receives outages: the caller's, or one that prints them.
 *
 * @param server The server's name.
 */
export function outageReport(
  server: string,
  { onOutage, onUnavailable }: Pick<EngineOptions, "onOutage" | "onUnavailable">,
): (outage: Outage) => void {
  if (onOutage !== undefined) {
    const report = guarded(onOutage, firstPrinted());
    return (outage) => void report(outage);
  }
  return function print({ state, duration, cause }) {
    if (state === "ended") {
      console.warn(`tidegate: ${server} answers again after ${Math.ceil(duration)} ms`);
    } else if (duration === 0) {
      console.warn(
        `tidegate: ${server} does not answer, so ${ANSWERS[onUnavailable]} ` +
          `(set onOutage to handle outages): ${cause!.message}`,
      );
    }
  };
}
