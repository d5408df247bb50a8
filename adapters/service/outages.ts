/*
 * Outages of the store, recognised by their effect on calls. Some calls end in an error. The outage
 * policy decides others, which without this file would look like any other call.
 */

import type { RuleHold, RuleReservation, Verdict } from "../rules/rules.ts";
import { errorText, type Log } from "./log.ts";
import type { EngineCall, EngineWrapping } from "./wrap_engine.ts";

/** The outages of an engine's store. */
export interface Outages {
  /** Makes a call of the engine, and observes its answer or its error. */
  readonly call: EngineWrapping["call"];
  /** The start of the current outage, in milliseconds since the Unix epoch; 0 without an outage. */
  since(): number;
  /**
   * Whether a call met the outage in the last ten seconds: without calls, the end of an outage goes
   * unnoticed.
   */
  isFresh(): boolean;
}

const FRESH = 10_000;

/** The verdict in the answer of a call; other calls have none. */
const VERDICTS: { readonly [Name in EngineCall]?: (answer: unknown) => Verdict } = {
  consume: (verdict) => verdict as Verdict,
  peek: (verdict) => verdict as Verdict,
  refund: (verdict) => verdict as Verdict,
  hold: (held) => (held as RuleHold).verdict,
  reserve: (reservation) => (reservation as RuleReservation).verdict,
};

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

  function fail(error: string | undefined, allowed: boolean | undefined): void {
    last = clock();
    if (began !== 0) return;
    began = last;
    const calls = allowed === undefined ? "fail" : allowed ? "are admitted" : "are refused";
    log({ event: "store-unavailable", level: "error", calls, error });
  }

  function look(verdict: Verdict): void {
    if (isByPolicy(verdict)) fail(undefined, verdict.allowed);
    else if (began !== 0 && verdict.decision !== undefined) {
      log({ event: "store-available", level: "info", seconds: (clock() - began) / 1_000 });
      began = 0;
    }
  }

  function failed(error: unknown): never {
    if ((error as Partial<Error> | undefined)?.name === "StoreUnavailableError") {
      fail(errorText(error), undefined);
    }
    throw error;
  }

  return {
    async call<Value>(name: EngineCall, call: () => Value | Promise<Value>) {
      let answer: Value;
      try {
        answer = await call();
      } catch (error) {
        return failed(error);
      }
      const verdictOf = VERDICTS[name];
      if (verdictOf !== undefined) look(verdictOf(answer));
      return answer;
    },
    since: () => began,
    isFresh: () => began !== 0 && clock() - last < FRESH,
  };
}
