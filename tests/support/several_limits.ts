/*
 * Requests with several limits, however they are made: by `consumeAll`, over HTTP, by rules. Each way
 * makes a request on a store that may fail, and says through another store what is left of each limit.
 */

import { type Gate, gate, type RateLimitOptions } from "../../adapters/http/http.ts";
import { ruleEngine, type RuleFile, type RuleRequest } from "../../adapters/rules/rules.ts";
import {
  type Algorithm,
  type AsyncLimiter,
  concurrency,
  consumeAll,
  fixedWindow,
  gcra,
  hold,
  type Limiter,
  limiter,
  reservable,
  reserveAll,
  slidingCounter,
  type Store,
} from "../../mod.ts";
import type { StoreBase } from "../../core/store.ts";
import { peek } from "../../core/verbs/peek.ts";

/** A request with several limits. */
export interface SeveralLimits {
  /** Makes the request; whether it is admitted. Rejects if the store fails. */
  ask(): Promise<boolean>;
  /** Uses up one of the limits, through the store that does not fail. */
  useUp(index: number): Promise<void>;
  /** Units that are left of each limit. */
  left(): Promise<readonly number[]>;
}

/** A way to make a request with several limits. */
export interface Way {
  /** Whether a refusal of one limit leaves the others as they were. */
  readonly isAllOrNone: boolean;
  /** The least limits that it makes sense with. */
  readonly least: number;
  /** Whether its last limit gives permits. */
  readonly holds: boolean;
  /**
   * Makes the request.
   *
   * @param store The store of the request.
   * @param inner The same store, which does not fail.
   */
  open(store: Store, inner: Store, prefix: string, count: number): SeveralLimits;
}

const PERMITS = { limit: 3, ttl: 60_000 };
const RATES = [
  { algorithm: "gcra", limit: 60, period: 60_000, burst: 5 },
  { algorithm: "fixedWindow", limit: 7, period: 3_600_000 },
  { algorithm: "slidingCounter", limit: 9, period: 3_600_000 },
  { algorithm: "gcra", limit: 100, period: 3_600_000, burst: 11 },
] as const;

function algorithmAt(index: number, count: number, holds: boolean): Algorithm {
  if (holds && index === count - 1) return concurrency(PERMITS) as Algorithm;
  const { algorithm, ...numbers } = RATES[index]!;
  return (algorithm === "gcra"
    ? gcra(numbers as { limit: number; period: number; burst: number })
    : algorithm === "fixedWindow"
    ? fixedWindow(numbers)
    : slidingCounter(numbers)) as Algorithm;
}

type AnyLimiter = Limiter | AsyncLimiter;

/** The units that are left of a key. Permits have no limiter's `peek`. */
async function leftOf(
  store: Store,
  prefix: string,
  algorithm: Algorithm,
  key: string,
): Promise<number> {
  const family = (store as StoreBase).open({ prefix, algorithm, older: [] });
  const { remaining } = await family.bind(peek).call(key, 0, undefined);
  return remaining;
}

async function useUp(limiter: AnyLimiter, key: string): Promise<void> {
  const { algorithm: { capacity, internals }, consume } = limiter;
  const isPermit = internals?.permits !== undefined;
  await (isPermit ? hold(limiter as never, key, { cost: capacity }) : consume(key, capacity));
}

function byLimiters(
  holds: boolean,
  ask: (limiters: readonly AnyLimiter[]) => () => Promise<boolean>,
  changed: (algorithm: Algorithm) => Algorithm = (algorithm) => algorithm,
): Way {
  return {
    isAllOrNone: true,
    least: 2,
    holds,
    open(store, inner, prefix, count) {
      const algorithms = Array.from(
        { length: count },
        (_, at) => changed(algorithmAt(at, count, holds)),
      );
      const on = (store: Store) =>
        algorithms.map((each, at) =>
          limiter(each, { store: store as never, prefix: `${prefix}${at}` }) as AnyLimiter
        );
      const others = on(inner);
      return {
        ask: ask(on(store)),
        useUp: (at) => useUp(others[at]!, `key${at}`),
        left: () =>
          Promise.all(
            algorithms.map((each, at) => leftOf(inner, `${prefix}${at}`, each, `key${at}`)),
          ),
      };
    },
  };
}

function overHttp(holds: boolean, more: Partial<RateLimitOptions<object>> = {}): Way {
  return byLimiters(holds, (limiters) => {
    let failure: unknown;
    const decide: Gate<object> = gate<object>(
      {
        ...more,
        limits: limiters.map((limiter, at) => ({ limiter, key: () => `key${at}` })),
        onFailure: (error: unknown) => failure = error,
      } as RateLimitOptions<object>,
      { address: () => "192.0.2.7", header: () => null, signal: () => undefined },
    );
    return async () => {
      failure = undefined;
      const { refusal } = await decide({}, undefined);
      if (failure !== undefined) throw failure;
      return refusal === undefined;
    };
  });
}

/** Algorithms whose units can be settled; permits stay as they are. */
function settled(algorithm: Algorithm): Algorithm {
  return algorithm.internals?.permits === undefined ? reservable(algorithm) : algorithm;
}

type Engine = ReturnType<typeof ruleEngine>;

function byRules(
  how: Omit<Way, "open"> & {
    readonly charge?: "each";
    readonly reservable?: boolean;
    readonly rule?: (index: number, count: number) => object;
    readonly call: (engine: Engine, request: RuleRequest) => unknown;
  },
): Way {
  const { charge, reservable, rule = () => ({}), call, ...way } = how;
  return {
    ...way,
    open(store, inner, prefix, count) {
      const isPermit = (at: number) => way.holds && at === count - 1;
      const rules: RuleFile = {
        domain: "d",
        ...(charge === undefined ? {} : { charge }),
        rules: Array.from({ length: count }, (_, at) => ({
          key: `key${at}`,
          ...rule(at, count),
          limits: [
            isPermit(at)
              ? { algorithm: "concurrency", ...PERMITS }
              : { ...RATES[at]!, ...(reservable ? { reservable } : {}) },
          ],
        })),
      } as RuleFile;
      const engine = ruleEngine({ store: store as never, rules, prefix });
      const other = ruleEngine({ store: inner as never, rules, prefix });
      const at = (index: number, cost?: number) => ({
        domain: "d",
        descriptors: [{ entries: [[`key${index}`, "a"]] as const }],
        cost,
      });
      const request = {
        domain: "d",
        descriptors: Array.from({ length: count }, (_, index) => at(index).descriptors[0]!),
      };
      return {
        async ask() {
          const answer = await call(engine, request) as {
            readonly allowed?: boolean;
            readonly verdict?: { readonly allowed: boolean };
          };
          return answer.allowed ?? answer.verdict!.allowed;
        },
        async useUp(index) {
          const { decision } = await other.peek(at(index, 0));
          await other.hold(at(index, decision!.remaining));
        },
        left: () =>
          Promise.all(
            request.descriptors.map(async (_, index) =>
              (await other.peek(at(index, 0))).rules[0]!.decision!.remaining
            ),
          ),
      };
    },
  };
}

const consumeByRules = (engine: Engine, request: RuleRequest) => engine.consume(request);
const holdByRules = (engine: Engine, request: RuleRequest) => engine.hold(request);
const reserveByRules = (engine: Engine, request: RuleRequest) => engine.reserve(request);
const quotas = (at: number, count: number) => ({ quota: at < Math.max(2, count - 1) });
const lastIsShadow = (at: number, count: number) => ({ shadow: at === count - 1 });

const ALL = { isAllOrNone: true, least: 2, holds: false };

/** The ways to make a request with several limits. */
export const WAYS: Readonly<Record<string, Way>> = {
  consumeAll: byLimiters(false, (limiters) => async () => {
    const entries = limiters.map((limiter, at) => ({ limiter, key: `key${at}` }));
    return (await consumeAll(entries)).allowed;
  }),
  reserveAll: byLimiters(
    true,
    (limiters) => async () => {
      const entries = limiters.map((limiter, at) => ({ limiter, key: `key${at}` }));
      return (await reserveAll(entries)).decision.allowed;
    },
    settled,
  ),
  HTTP: overHttp(false),
  "HTTP with refunds": overHttp(false, { refund: "failed" }),
  "HTTP with permits": overHttp(true),
  rules: byRules({ ...ALL, call: consumeByRules }),
  "rules that hold": byRules({ ...ALL, holds: true, call: holdByRules }),
  "rules that reserve": byRules({
    ...ALL,
    holds: true,
    reservable: true,
    call: reserveByRules,
  }),
  "rules, each by itself": byRules({
    ...ALL,
    isAllOrNone: false,
    charge: "each",
    call: consumeByRules,
  }),
  "rules, each by itself, that hold": byRules({
    ...ALL,
    holds: true,
    charge: "each",
    call: holdByRules,
  }),
  "rules with quotas": byRules({
    ...ALL,
    isAllOrNone: false,
    least: 3,
    rule: quotas,
    call: consumeByRules,
  }),
  "rules with quotas that hold": byRules({
    ...ALL,
    isAllOrNone: false,
    least: 3,
    holds: true,
    rule: quotas,
    call: holdByRules,
  }),
  "rules with a shadow": byRules({
    ...ALL,
    isAllOrNone: false,
    rule: lastIsShadow,
    call: consumeByRules,
  }),
};
