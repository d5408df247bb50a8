/*
 * Random calls of every verb, put to several stores at once: each must answer as the bare reducers do.
 *
 * Calls come in rounds, each at one instant and on keys that differ, so that a store may combine them
 * in batches. Plain verbs are compared with a fold of the reducers, which may be those of another build.
 * Verbs that no reducer has (receipts and blocks) are compared with the memory store, on keys of
 * their own.
 */

import assert from "node:assert/strict";

import {
  type Algorithm,
  type AsyncLimiter,
  blockable,
  consumeAll,
  type Decision,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  RateLimitedError,
  type Receipt,
  type Store,
} from "../../mod.ts";

/** An algorithm, and the reducer to compare its decisions with. */
export interface Policy {
  readonly name: string;
  readonly algorithm: Algorithm;
  /** The algorithm itself, or that of another build. */
  readonly reducer: Algorithm;
}

type Api = Limiter | AsyncLimiter;
type Random = () => number;

/** The most units of one call. */
const MOST_UNITS = 4;
/** The longest wait for units, in milliseconds; a slow store has answered by then. */
const MOST_WAIT = 10_000;
const PLAIN_KEYS = 60;
const NOTED_KEYS = 8;
/** The verbs of a plain key, several at once apart. */
const VERBS = ["consume", "consume", "peek", "refund", "charge", "acquire", "reset"] as const;

/** How many calls of each verb were compared. */
export type Counts = Map<string, number>;

/**
 * Puts random calls to a store and compares the answers.
 *
 * @param name Of the store: keys of several stores on one server differ by it.
 * @param calls At least so many.
 * @param seed Of the calls.
 * @returns The number of calls by verb.
 */
export async function equalCalls(
  store: Store,
  name: string,
  policies: readonly Policy[],
  calls: number,
  seed: number,
): Promise<Counts> {
  const random = randomFrom(seed);
  const counts: Counts = new Map();
  let now = 1_700_000_000_000;
  const clock = () => now;
  const on = (algorithm: Algorithm, store: Store, policy: string): Api =>
    limiter(algorithm, { store, prefix: `${name} ${policy}`, clock } as never);
  const plain = policies.map((policy) => ({
    ...policy,
    api: on(policy.algorithm, store, policy.name),
    states: new Map<string, unknown>(),
  }));
  const pairs = [...policies, ...WITH_RECEIPTS].map(({ name, algorithm }) => {
    const reference = on(algorithm, memoryStore(), `noted ${name}`);
    const api = on(algorithm, store, `noted ${name}`);
    return { name, reference, api, receipts: [] };
  });
  let done = 0;
  const count = (verb: string, by = 1) => {
    counts.set(verb, (counts.get(verb) ?? 0) + by);
    done += by;
  };

  while (done < calls) {
    now += random() < 0.1 ? whole(random, 90_000) : whole(random, 3_000);
    const checks: Promise<void>[] = [];
    const free = plain.map(() => shuffledKeys(random));
    for (let index = 0; index < plain.length; index++) {
      const keys = free[index]!;
      for (let left = whole(random, 12); left > 0; left--) {
        const verb = VERBS[whole(random, VERBS.length)]!;
        count(verb);
        checks.push(plainCall(plain[index]!, verb, keys.pop()!, units(random), now));
      }
    }
    for (let left = 6; left > 0; left--) {
      const several = Array.from({ length: 1 + whole(random, 4) }, () => {
        const index = whole(random, plain.length);
        const charges = random() < 0.25;
        return { of: plain[index]!, key: free[index]!.pop()!, cost: units(random), charges };
      });
      count("consumeAll");
      checks.push(together(several, now));
    }
    for (const pair of pairs) {
      if (random() < 0.5) continue;
      count("receipts");
      checks.push(notedCall(pair, random));
    }
    await Promise.all(checks);
  }
  return counts;
}

/** Algorithms that the reducers of another build need not have. */
const WITH_RECEIPTS = [
  { name: "blockable", algorithm: blockable(gcra({ limit: 20, period: "1m" })) },
];

interface Plain extends Policy {
  readonly api: Api;
  readonly states: Map<string, unknown>;
}

/** One call of a plain verb, on the store and by the reducer. */
async function plainCall(
  { api, reducer, states }: Plain,
  verb: (typeof VERBS)[number],
  key: string,
  cost: number,
  now: number,
): Promise<void> {
  const state = states.has(key) ? states.get(key) : reducer.initial;
  if (verb === "reset") {
    states.delete(key);
    await api.reset(key);
    return;
  }
  const [expected, next] = verb === "charge"
    ? reducer.charge(state, now, cost)
    : reducer.step(state, now, verb === "refund" ? -cost : cost);
  const waits = expected.delay > 0 || (!expected.allowed && expected.retryAfter < 2 * MOST_WAIT);
  const own = verb === "acquire" && waits ? "consume" : verb;
  if (own !== "peek") states.set(key, next);
  const answer = own === "acquire" ? await acquired(api, key, cost) : await api[own](key, cost);
  // Its refusal is made when the caller gives up, and says how long to wait from then.
  if (own === "acquire" && !expected.allowed) return assert.equal(answer.allowed, false);
  assert.deepEqual(answer, expected, `${own} of ${cost} for ${key}, ${reducer.id}, at ${now}`);
}

/** The decision of a call that is admitted at once, or refused because its turn would come too late. */
async function acquired(api: Api, key: string, cost: number): Promise<Decision> {
  try {
    return await api.acquire(key, { cost, maxWait: MOST_WAIT });
  } catch (error) {
    if (!(error instanceof RateLimitedError)) throw error;
    return error.decision;
  }
}

interface Part {
  readonly of: Plain;
  readonly key: string;
  readonly cost: number;
  readonly charges: boolean;
}

/** Several at once, all or nothing. */
async function together(parts: readonly Part[], now: number): Promise<void> {
  const stepped = parts.map(({ of: { reducer, states }, key, cost, charges }) => {
    const state = states.has(key) ? states.get(key) : reducer.initial;
    const [decision, next] = charges
      ? reducer.charge(state, now, cost)
      : reducer.step(state, now, cost);
    return { state, decision, next };
  });
  const admitted = stepped.every(({ decision }) => decision.allowed);
  const expected = stepped.map(({ state, decision }, index) => {
    if (admitted || !decision.allowed) return decision;
    return parts[index]!.of.reducer.step(state, now, 0)[0];
  });
  if (admitted) {
    stepped.forEach(({ next }, index) => parts[index]!.of.states.set(parts[index]!.key, next));
  }
  const entries = parts.map(({ of: { api }, key, cost, charges }) => (
    { limiter: api, key, cost, charge: charges }
  ));
  const { parts: answers } = await consumeAll(entries);
  assert.deepEqual(answers, expected, `consumeAll of ${parts.map(({ key }) => key)} at ${now}`);
}

interface Pair {
  readonly name: string;
  readonly reference: Api;
  readonly api: Api;
  receipts: (readonly [Receipt, Receipt])[];
}

/** One call with receipts or blocks, on the store and in memory. */
async function notedCall(pair: Pair, random: Random): Promise<void> {
  const { name, reference, api, receipts } = pair;
  const both = async <Answer>(call: (api: Api, index: 0 | 1) => Answer | Promise<Answer>) =>
    await Promise.all([call(reference, 0), call(api, 1)]);
  const key = `noted ${whole(random, NOTED_KEYS)}`;
  const cost = units(random);
  const isLast = random() < 0.5;
  const kind = whole(random, name === "blockable" ? 8 : 6);
  if (kind < 2 || (receipts.length === 0 && kind < 6)) {
    const options = random() < 0.3 ? { ttl: 1_000 + whole(random, 60_000) } : {};
    const [expected, answer] = await both((api) => api.reserve(key, cost, options));
    assert.deepEqual(answer.decision, expected.decision, `reserve of ${cost}, ${name}`);
    if (answer.receipt !== undefined && receipts.length < 100) {
      receipts.push([expected.receipt!, answer.receipt]);
    }
    return;
  }
  if (kind === 6 || kind === 7) {
    const [expected, answer] = await both((api) =>
      kind === 6 ? api.block(key, 30_000) : api.unblock(key)
    );
    assert.deepEqual(answer, expected, `${kind === 6 ? "block" : "unblock"}, ${name}`);
    return;
  }
  const receipt = receipts[whole(random, receipts.length)]!;
  const [expected, answer] = await both((api, index) => {
    const own = receipt[index];
    if (kind === 2) return api.settle(own.key, own, cost);
    if (kind === 3) return api.refund(own.key, own, 1);
    if (kind === 4) return api.release(own.key, own);
    return api.settle(own.key, own, 0);
  });
  assert.deepEqual(answer, expected, `settling by ${kind}, ${name}`);
  if (isLast) receipts.splice(receipts.indexOf(receipt), 1);
}

function shuffledKeys(random: Random): string[] {
  const keys = Array.from({ length: PLAIN_KEYS }, (_, index) => `key ${index}`);
  for (let index = keys.length - 1; index > 0; index--) {
    const other = whole(random, index + 1);
    [keys[index], keys[other]] = [keys[other]!, keys[index]!];
  }
  return keys;
}

function units(random: Random): number {
  return 1 + whole(random, MOST_UNITS);
}

function whole(random: Random, below: number): number {
  return Math.floor(random() * below);
}

/** Numbers from 0 to below 1, the same for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = state + 0x6d2b79f5 >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}
