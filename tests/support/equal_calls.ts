/*
 * Random calls of every verb, put to several stores at once: each must answer as the bare reducers do.
 *
 * Calls come in rounds, each at one instant and on keys that differ, so that a store may combine them
 * in batches. Plain verbs are compared with a fold of the reducers. Verbs that no reducer has (receipts
 * and blocks) are compared with the memory store, and permits with ids in a list, on keys of their own.
 *
 * A store that is too small forgets keys. Its calls then come one by one. Whenever it has counted an
 * eviction, a look at every key tells which one it was, and the reference forgets that one as well: so
 * nothing is assumed of the choice, and a key that is lost without being counted is a difference.
 */

import assert from "node:assert/strict";

import {
  acquire,
  type Algorithm,
  type AsyncLimiter,
  balance,
  block,
  consumeAll,
  consumeUpTo,
  type Decision,
  type Limiter,
  limiter,
  memoryStore,
  RateLimitedError,
  type Receipt,
  release,
  reservable,
  reserve,
  settle,
  type Store,
  unblock,
} from "../../mod.ts";
import { permitKeys } from "./equal_permits.ts";
import { numbersFrom } from "./numbers_from.ts";

/** An algorithm, with whose reducer its decisions are compared. */
export interface Policy {
  readonly name: string;
  readonly algorithm: Algorithm;
}

type Api = Limiter | AsyncLimiter;
type Random = () => number;

/** The most units of one call. */
const MOST_UNITS = 4;
/** The longest wait for units, in milliseconds; a slow store has answered by then. */
const MOST_WAIT = 10_000;
const PLAIN_KEYS = 60;
const HELD_KEYS = 8;
/** Milliseconds until a receipt ends: some are settled too late. */
const WITHIN = 45_000;
/** The verbs of a plain key, several at once apart. */
const VERBS = [
  "consume",
  "consume",
  "consumeUpTo",
  "peek",
  "refund",
  "charge",
  "acquire",
  "reset",
] as const;

/**
 * Puts random calls to a store and compares the answers.
 *
 * @param name The store's name, by which the keys of several stores on one server differ.
 * @param calls The least number of calls.
 * @param seed The seed of the calls.
 * @param evictions How many keys in use the store has forgotten; only where it may forget some.
 * @returns How many keys were seen to be forgotten.
 */
export async function equalCalls(
  store: Store,
  name: string,
  policies: readonly Policy[],
  calls: number,
  seed: number,
  evictions?: () => number,
): Promise<number> {
  const random = numbersFrom(seed);
  let now = 1_700_000_000_000;
  const clock = () => now;
  const on = (algorithm: Algorithm, store: Store, policy: string): Api =>
    limiter(algorithm, { store, prefix: `${name} ${policy}`, clock } as never);
  const plain = policies.map((policy) => ({
    ...policy,
    api: on(policy.algorithm, store, policy.name),
    states: new Map<string, unknown>(),
  }));
  const pairs = policies.map(({ name, algorithm }) => {
    const held = reservable(algorithm, { within: WITHIN });
    const reference = on(held, memoryStore(), `held ${name}`);
    const api = on(held, store, `held ${name}`);
    return { name, reference, api, receipts: [] };
  });
  const permits = permitKeys(store, name, random);
  let [done, seen, forgotten] = [0, 0, 0];
  /** Lets the references forget what the store has forgotten. */
  const forget = async () => {
    const counted = evictions!();
    if (counted === seen) return;
    let lost = permits.forget(now);
    for (const one of plain) lost += await forgetPlain(one, now);
    for (const pair of pairs) lost += await forgetHeld(pair);
    assert.ok(
      lost <= counted - seen,
      `${lost} keys forgotten, ${counted - seen} evictions counted`,
    );
    forgotten += lost;
    seen = counted;
  };

  while (done < calls) {
    now += random() < 0.1 ? whole(random, 90_000) : whole(random, 3_000);
    const checks: (() => Promise<void>)[] = [];
    const free = plain.map(() => shuffledKeys(random));
    for (let index = 0; index < plain.length; index++) {
      const keys = free[index]!;
      for (let left = whole(random, 12); left > 0; left--) {
        const verb = VERBS[whole(random, VERBS.length)]!;
        const [key, cost] = [keys.pop()!, units(random)];
        checks.push(() => plainCall(plain[index]!, verb, key, cost, now));
      }
    }
    for (let left = 6; left > 0; left--) {
      const several = Array.from({ length: 1 + whole(random, 4) }, () => {
        const index = whole(random, plain.length);
        const charges = random() < 0.25;
        return { of: plain[index]!, key: free[index]!.pop()!, cost: units(random), charges };
      });
      checks.push(() => together(several, now));
    }
    for (const pair of pairs) {
      if (random() < 0.5) continue;
      checks.push(() => heldCall(pair, random));
    }
    checks.push(...permits.calls(now));
    done += checks.length;
    if (evictions === undefined) await Promise.all(checks.map((check) => check()));
    else {
      for (const check of checks) {
        await check();
        await forget();
      }
    }
  }
  return forgotten;
}

interface Plain extends Policy {
  readonly api: Api;
  readonly states: Map<string, unknown>;
}

/** One call of a plain verb, on the store and by the reducer. */
async function plainCall(
  { api, algorithm, states }: Plain,
  verb: (typeof VERBS)[number],
  key: string,
  cost: number,
  now: number,
): Promise<void> {
  const state = states.has(key) ? states.get(key) : algorithm.initial;
  if (verb === "reset") {
    states.delete(key);
    await api.reset(key);
    return;
  }
  if (verb === "consumeUpTo") {
    const most = 4 * cost;
    let free = most;
    while (free > 1 && !algorithm.step(state, now, free)[0].allowed) free--;
    const [decision, next] = algorithm.step(state, now, free);
    states.set(key, next);
    const expected = { decision, taken: decision.allowed ? free : 0 };
    const answer = await consumeUpTo(api, key, most);
    return assert.deepEqual(answer, expected, `${verb} of ${most}, ${algorithm.id}, at ${now}`);
  }
  const [expected, next] = verb === "charge"
    ? algorithm.charge(state, now, cost)
    : algorithm.step(state, now, verb === "refund" ? -cost : cost);
  const waits = expected.delay > 0 || (!expected.allowed && expected.retryAfter < 2 * MOST_WAIT);
  const own = verb === "acquire" && waits ? "consume" : verb;
  if (own !== "peek") states.set(key, next);
  const answer = own === "acquire" ? await acquired(api, key, cost) : await api[own](key, cost);
  // Its refusal is made when the caller gives up, and says how long to wait from then.
  if (own === "acquire" && !expected.allowed) return assert.equal(answer.allowed, false);
  assert.deepEqual(answer, expected, `${own} of ${cost} for ${key}, ${algorithm.id}, at ${now}`);
}

/**
 * The decision of a call that is admitted at once, or refused because its turn would come too late.
 */
async function acquired(api: Api, key: string, cost: number): Promise<Decision> {
  try {
    return await acquire(api, key, { cost, maxWait: MOST_WAIT });
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
  const stepped = parts.map(({ of: { algorithm, states }, key, cost, charges }) => {
    const state = states.has(key) ? states.get(key) : algorithm.initial;
    const [decision, next] = charges
      ? algorithm.charge(state, now, cost)
      : algorithm.step(state, now, cost);
    return { state, decision, next };
  });
  const admitted = stepped.every(({ decision }) => decision.allowed);
  const expected = stepped.map(({ state, decision }, index) => {
    if (admitted || !decision.allowed) return decision;
    return parts[index]!.of.algorithm.step(state, now, 0)[0];
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
async function heldCall(pair: Pair, random: Random): Promise<void> {
  const { name, reference, api, receipts } = pair;
  const both = async <Answer>(call: (api: Api, index: 0 | 1) => Answer | Promise<Answer>) =>
    await Promise.all([call(reference, 0), call(api, 1)]);
  const key = `held ${whole(random, HELD_KEYS)}`;
  const cost = units(random);
  const isLast = random() < 0.5;
  const kind = whole(random, name.startsWith("blockable") ? 8 : 6);
  if (kind === 5) {
    const [expected, answer] = await both<unknown>((api) =>
      isLast ? consumeUpTo(api, key, 4 * cost) : api.charge(key, cost)
    );
    assert.deepEqual(answer, expected, `a call of ${cost} beside receipts, ${name}`);
    const balances = await both((api) => balance(api, key));
    assert.deepEqual(balances[1], balances[0], `the balance beside receipts, ${name}`);
    return;
  }
  if (kind < 2 || (receipts.length === 0 && kind < 5)) {
    const [expected, answer] = await both((api) => reserve(api, key, cost));
    assert.deepEqual(answer.decision, expected.decision, `reserve of ${cost}, ${name}`);
    if (answer.receipt !== undefined && receipts.length < 100) {
      receipts.push([expected.receipt!, answer.receipt]);
    }
    return;
  }
  if (kind === 6 || kind === 7) {
    const [expected, answer] = await both((api) =>
      kind === 6 ? block(api as never, key, 30_000) : unblock(api as never, key)
    );
    assert.deepEqual(answer, expected, `${kind === 6 ? "block" : "unblock"}, ${name}`);
    return;
  }
  const receipt = receipts[whole(random, receipts.length)]!;
  const [expected, answer] = await both((api, index) => {
    const own = receipt[index];
    return kind === 2 ? release(api, own.key, own) : settle(api, own.key, own, cost);
  });
  assert.deepEqual(answer, expected, `settling by ${kind}, ${name}`);
  if (isLast) receipts.splice(receipts.indexOf(receipt), 1);
}

/** Forgets the plain keys in use that the store answers for as for new ones; how many. */
async function forgetPlain({ api, algorithm, states }: Plain, now: number): Promise<number> {
  let lost = 0;
  for (const [key, state] of states) {
    const expected = algorithm.step(state, now, 0)[0];
    if (expected.resetAfter === 0 || isSame(await api.peek(key, 0), expected, key)) continue;
    states.delete(key);
    lost++;
  }
  return lost;
}

/**
 * The same for keys with receipts. A fresh key may have open ones that no look shows, and begins again.
 */
async function forgetHeld({ api, reference }: Pair): Promise<number> {
  let lost = 0;
  for (let index = 0; index < HELD_KEYS; index++) {
    const key = `held ${index}`;
    const expected = await reference.peek(key, 0);
    const answer = await api.peek(key, 0);
    if (expected.resetAfter === 0) await api.reset(key);
    if (isSame(answer, expected, key) && expected.resetAfter > 0) continue;
    await reference.reset(key);
    if (expected.resetAfter > 0) lost++;
  }
  return lost;
}

/** Whether a key is as expected, which is in use; otherwise it must be as a new one. */
function isSame(answer: Decision, expected: Decision, key: string): boolean {
  if (answer.resetAfter === 0 && expected.resetAfter > 0) return false;
  const isEqual = answer.resetAfter === expected.resetAfter &&
    answer.nextAfter === expected.nextAfter && answer.remaining === expected.remaining &&
    answer.debt === expected.debt;
  // The comparison of all fields takes long, and there is one for each key and eviction.
  if (!isEqual) assert.deepEqual(answer, expected, `${key} after an eviction`);
  return true;
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
