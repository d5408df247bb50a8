/*
 * Outages of the store, recognised by their effect on calls. Some calls end in an error. The outage
 * policy decides others, which without this file would look like any other call.
 */

import type { Verdict } from "../rules/rules.ts";
import { errorText, type Log } from "./log.ts";

/** The outages of an engine's store. */
export interface Outages {
  /** Observes a verdict. */
  verdict(verdict: Verdict): void;
  /** Observes an error that ended a call. */
  error(error: unknown): void;
  /** The start of the current outage, in milliseconds since the Unix epoch; 0 without an outage. */
  since(): number;
  /**
   * Whether a call met the outage in the last ten seconds: without calls, the end of an outage goes
   * unnoticed.
   */
  isFresh(): boolean;
}

const FRESH = 10_000;

/** Whether a decision was made without the store, by the policy for this case. */
export function isByPolicy({ rules }: Verdict): boolean {
  return rules.some(({ decision }) => decision?.source === "policy");
}

/**
 * Logs when an outage of an engine's store begins and when it has ended.
 *
 * @param clock Milliseconds since the Unix epoch.
 */
export function logOutages(log: Log, clock: () => number = Date.now): Outages {
  let began = 0;
  let last = 0;

  function fail(calls: "fail" | "are admitted" | "are refused", error?: string): void {
    last = clock();
    if (began !== 0) return;
    began = last;
    log({ event: "store-unavailable", level: "error", calls, error });
  }

  return {
    verdict(verdict) {
      if (isByPolicy(verdict)) fail(verdict.allowed ? "are admitted" : "are refused");
      else if (began !== 0 && verdict.rules.some(({ decision }) => decision !== undefined)) {
        log({ event: "store-available", level: "info", seconds: (clock() - began) / 1_000 });
        began = 0;
      }
    },
    error(error) {
      const { name } = (error ?? {}) as Partial<Error>;
      if (name === "StoreUnavailableError") fail("fail", errorText(error));
    },
    since: () => began,
    isFresh: () => began !== 0 && clock() - last < FRESH,
  };
}
