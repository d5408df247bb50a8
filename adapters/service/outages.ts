/*
 * Outages of the store, recognised by their effect on calls: some calls end in an error; the outage
 * policy decides others, and without this file those would look like any other call.
 */

import { andThen, type MaybePromise } from "../../core/application_support.ts";
import type { RuleEngine, Verdict } from "../rules/rules.ts";
import { errorText, type Log } from "./log.ts";

/** Whether the store answers. */
export interface OutageWatch {
  /** The engine, with an eye on what it answers. */
  readonly engine: RuleEngine;
  /** The start of the current outage, in milliseconds since the Unix epoch; 0 without an outage. */
  since(): number;
  /** Whether a call met the outage in the last ten seconds: without calls nobody knows its end. */
  isFresh(): boolean;
}

const FRESH = 10_000;

/** Whether a decision was made without the store, by the policy for this case. */
export function isByPolicy({ rules }: Verdict): boolean {
  return rules.some(({ decision }) => decision?.source === "policy");
}

/**
 * Watches an engine, and logs when an outage of its store begins and when it has ended.
 *
 * @param clock Milliseconds since the Unix epoch.
 */
export function watchOutages(
  engine: RuleEngine,
  log: Log,
  clock: () => number = Date.now,
): OutageWatch {
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

  function watched<Value>(call: () => MaybePromise<Value>): Value | Promise<Value> {
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
      consume: (request) => watched(() => andThen(engine.consume(request), look)),
      peek: (request) => watched(() => andThen(engine.peek(request), look)),
      refund: (request) => watched(() => andThen(engine.refund(request), look)),
      hold: (request, id) => watched(() => andThen(engine.hold(request, id), lookAt)),
      renew: (permit) => watched(() => engine.renew(permit)),
      reserve: (request, options) =>
        watched(() => andThen(engine.reserve(request, options), lookAt)),
      settle: (receipt, actual) => watched(() => engine.settle(receipt, actual)),
      release: (held) => watched(() => engine.release(held)),
      reset: (request) => watched(() => engine.reset(request)),
      block: (request, duration) => watched(() => engine.block(request, duration)),
      unblock: (request) => watched(() => engine.unblock(request)),
    },
    since: () => began,
    isFresh: () => began !== 0 && clock() - last < FRESH,
  };
}
