/*
 * Outages of the store, recognised by their effect on calls. Some calls end in an error. The outage
 * policy decides others, which without this file would look like any other call.
 */

import { andThen, type MaybePromise } from "../../core/application_support.ts";
import type { RuleEngine, Verdict } from "../rules/rules.ts";
import { errorText, type Log } from "./log.ts";

/** The outages of an engine's store. */
export interface Outages {
  /** The engine, with its answers and errors observed. */
  readonly engine: RuleEngine;
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
export function logOutages(
  engine: RuleEngine,
  log: Log,
  clock: () => number = Date.now,
): Outages {
  let began = 0;
  let last = 0;

  function fail(error: string | undefined, allowed: boolean | undefined): void {
    last = clock();
    if (began !== 0) return;
    began = last;
    const calls = allowed === undefined ? "fail" : allowed ? "are admitted" : "are refused";
    log({ event: "store-unavailable", level: "error", calls, error });
  }

  function look(verdict: Verdict): Verdict {
    if (isByPolicy(verdict)) fail(undefined, verdict.allowed);
    else if (began !== 0 && verdict.decision !== undefined) {
      log({ event: "store-available", level: "info", seconds: (clock() - began) / 1_000 });
      began = 0;
    }
    return verdict;
  }

  function lookAt<Held extends { readonly verdict: Verdict }>(held: Held): Held {
    look(held.verdict);
    return held;
  }

  function logged<Value>(call: () => MaybePromise<Value>): Value | Promise<Value> {
    const failed = (error: unknown): never => {
      if ((error as Partial<Error> | undefined)?.name === "StoreUnavailableError") {
        fail(errorText(error), undefined);
      }
      throw error;
    };
    try {
      const answer = call();
      return answer instanceof Promise ? answer.catch(failed) : answer as Value;
    } catch (error) {
      return failed(error);
    }
  }

  return {
    engine: {
      ...engine,
      get rules() {
        return engine.rules;
      },
      consume: (request) => logged(() => andThen(engine.consume(request), look)),
      peek: (request) => logged(() => andThen(engine.peek(request), look)),
      refund: (request) => logged(() => andThen(engine.refund(request), look)),
      hold: (request, id) => logged(() => andThen(engine.hold(request, id), lookAt)),
      renew: (permit) => logged(() => engine.renew(permit)),
      reserve: (request, options) =>
        logged(() => andThen(engine.reserve(request, options), lookAt)),
      settle: (receipt, actual) => logged(() => engine.settle(receipt, actual)),
      release: (held) => logged(() => engine.release(held)),
      reset: (request) => logged(() => engine.reset(request)),
      block: (request, duration) => logged(() => engine.block(request, duration)),
      unblock: (request) => logged(() => engine.unblock(request)),
    },
    since: () => began,
    isFresh: () => began !== 0 && clock() - last < FRESH,
  };
}
