/*
 * An engine in whose calls the service has a part: it changes requests before they are decided, and
 * sees how calls end.
 */

import type { RuleEngine, RuleRequest } from "../rules/rules.ts";

const CALLS = [
  "consume",
  "peek",
  "refund",
  "hold",
  "renew",
  "reserve",
  "settle",
  "release",
  "reset",
  "block",
  "unblock",
] as const;

/** The name of a call that decides or changes something. */
export type EngineCall = typeof CALLS[number];

/** The part of the service in a call. */
export interface EngineWrapping {
  /** The request, permit or receipt that the engine receives. */
  readonly request: <Request extends RuleRequest>(request: Request) => Request;
  /** Makes the call. */
  readonly call: <Value>(name: EngineCall, call: () => Value | Promise<Value>) => Promise<Value>;
}

/** Wraps an engine. */
export function wrapEngine(engine: RuleEngine, { request, call }: EngineWrapping): RuleEngine {
  const calls = Object.fromEntries(CALLS.map((name) => {
    const own = engine[name] as (request: RuleRequest, option: unknown) => unknown;
    return [
      name,
      (given: RuleRequest, option: unknown) => call(name, () => own(request(given), option)),
    ];
  })) as unknown as Pick<RuleEngine, EngineCall>;
  return {
    ...engine,
    ...calls,
    get rules() {
      return engine.rules;
    },
  };
}
