/*
 * The promise of a full store, for any store and any algorithm. It makes a place only when none is
 * free, and forgets the key whose loss gives away the least. Nothing here looks inside a store: the
 * answers show which key it forgot.
 *
 *   for (const [name, algorithm] of Object.entries(evictionSubjects)) {
 *     test(name, () => evictionLaw(makeStore, algorithm).run(fcOptions({ numRuns: 20 })));
 *   }
 *   const { admitted, due } = guessesAdmitted(makeStore, evictionSubjects.gcra, { capacity: 1_000 });
 *   assert.ok(admitted <= due + EVICTION_LIMIT);
 */

import fc from "fast-check";
import { type Law, law } from "../../adapters/testing/law.ts";
import type { Decision } from "../../core/decision.ts";
import type { SyncStore } from "../../core/store.ts";
import {
  type Algorithm,
  all,
  calendarWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  type Limiter,
  limiter,
  lockout,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../mod.ts";
import { numbersFrom } from "./numbers_from.ts";
import { upTo } from "./seed.ts";

/** Makes an empty store that holds that many keys and then forgets some for others. */
export type MakeStore = (capacity: number) => SyncStore;

/** Units an hour of each subject, and at once of a key never seen. */
export const EVICTION_LIMIT = 5;

const HOUR = 3_600_000;
const rate = { limit: EVICTION_LIMIT, period: HOUR };
const bucket = { ...rate, burst: EVICTION_LIMIT };

/** Every algorithm, with a capacity of `EVICTION_LIMIT`. */
export const evictionSubjects: Readonly<Record<string, Algorithm>> = {
  fixedWindow: fixedWindow(rate),
  "fixedWindow from the first call": fixedWindow({ ...rate, anchor: "first" }),
  calendarWindow: calendarWindow({ limit: EVICTION_LIMIT, every: "hour", zone: "UTC" }),
  slidingLog: slidingLog(rate),
  slidingCounter: slidingCounter(rate),
  slidingWindow: slidingWindow({ ...rate, precision: HOUR / 60 }),
  "slidingWindow of many sub-buckets": slidingWindow({ ...rate, precision: HOUR / 600 }),
  tokenBucket: tokenBucket(bucket),
  "tokenBucket by interval": tokenBucket({ ...bucket, refill: "interval" }),
  leakyBucket: leakyBucket(bucket),
  leakyQueue: leakyQueue({ ...rate, queue: EVICTION_LIMIT - 1 }),
  gcra: gcra(bucket),
  "gcra of two words": gcra({ limit: 999_983, period: 200_000 * HOUR, burst: EVICTION_LIMIT }),
  lockout: lockout({ ...rate, lock: "10m" }),
  "lockout for long": lockout({ ...rate, lock: "5h" }),
  all: all(gcra(bucket), fixedWindow({ limit: 2 * EVICTION_LIMIT, period: 2 * HOUR })),
};

const START = 1_790_000_000_000;
/** Keys that a store of the law holds, and keys that ask for a place in it. */
const CAPACITY = 24;
const KEYS = 60;
const CALLS = 200;

/** A call of a schedule; time passes before it. */
interface Call {
  readonly key: number;
  readonly kind: "consume" | "charge" | "refund";
  readonly cost: number;
  readonly pause: number;
}

/** A key as its last write left it. */
interface HeldKey {
  readonly freshAt: number;
  /** 1: units are left; 2: no units are left; 3: in debt. */
  readonly level: number;
}

/**
 * The law: a call on a new key forgets a key in use only when all places are taken by such keys, only
 * one, and never one that had nothing left (or was in debt) while one with units left (or without
 * debt) stays. What counts is the use as of a key's last write.
 *
 * A store may look at a sample of its keys, but has to look at all of so few: it is made for 24.
 */
export function evictionLaw(make: MakeStore, algorithm: Algorithm): Law {
  return law(
    "a full store forgets the key that gives away the least",
    // Schedules by a seed: to make them smaller would take minutes, and say no more.
    fc.property(fc.nat(), (seed) => {
      forgettingRightly(make, algorithm, scheduleOf(seed, algorithm.capacity));
      return true;
    }),
  );
}

function scheduleOf(seed: number, capacity: number): Call[] {
  const random = numbersFrom(seed);
  const oneOf = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  return Array.from({ length: CALLS }, () => ({
    key: oneOf(...upTo(KEYS)),
    kind: oneOf<Call["kind"]>("consume", "consume", "consume", "consume", "charge", "refund"),
    // Mostly one unit, or all.
    cost: oneOf(1, 1, 1, 2, capacity),
    pause: oneOf(0, 0, 0, 0, 0, 0, 1, 60_000),
  }));
}

function forgettingRightly(make: MakeStore, algorithm: Algorithm, schedule: readonly Call[]): void {
  const store = make(CAPACITY);
  let now = START;
  const api = limiter(algorithm, { store, prefix: "law", clock: () => now });
  const held = new Map<string, HeldKey>();
  for (const { key, kind, cost, pause } of schedule) {
    now += pause;
    const name = `key ${key}`;
    for (const [each, { freshAt }] of held) if (freshAt <= now) held.delete(each);
    const isNew = !held.has(name);
    const before = held.size;
    const decision = api[kind](name, kind === "charge" && cost > 1 ? cost + 1 : cost);
    // A refusal writes nothing, and neither does a refund of units that were not taken.
    if (decision.allowed && (kind !== "refund" || !isNew)) noteUse(held, name, decision, now);
    const forgotten = missingFrom(api, held);
    if (forgotten.length === 0) continue;
    if (!isNew || before < CAPACITY || forgotten.length > 1) {
      throw new Error(`${forgotten.length} forgotten for "${name}", with ${before} keys held`);
    }
    const { level } = held.get(forgotten[0]!)!;
    held.delete(forgotten[0]!);
    for (const [each, other] of held) {
      if (each === name || other.level >= level) continue;
      throw new Error(`level ${level} forgotten, and "${each}" of level ${other.level} held`);
    }
  }
  store.close();
}

function noteUse(held: Map<string, HeldKey>, key: string, decision: Decision, now: number): void {
  const { resetAfter, remaining, debt } = decision;
  if (resetAfter === 0) held.delete(key);
  else held.set(key, { freshAt: now + resetAfter, level: debt > 0 ? 3 : remaining === 0 ? 2 : 1 });
}

/** The keys in use that the store no longer knows. */
function missingFrom(api: Limiter, held: ReadonlyMap<string, HeldKey>): string[] {
  return [...held.keys()].filter((key) => api.peek(key, 0).resetAfter === 0);
}

/** An attempt to guess a password more often than the limit allows. */
export interface Bypass {
  /** Keys that the store holds; it is filled before. */
  readonly capacity: number;
  /** Made-up keys, one before each guess; default ten times the capacity. */
  readonly flood?: number | undefined;
  /** Milliseconds over which they are spread; default 0. */
  readonly within?: number | undefined;
  /** Units that each made-up key takes; default 1. */
  readonly cost?: number | undefined;
}

/** Guesses that a store admitted, and guesses that the algorithm alone admits at the same instants. */
export interface Guesses {
  readonly admitted: number;
  readonly due: number;
}

/**
 * The guesses on one key that are admitted while a flood of made-up keys pushes others out of a full
 * store. If its keys are used once, at most `EVICTION_LIMIT` more than those that are due.
 */
export function guessesAdmitted(
  make: MakeStore,
  algorithm: Algorithm,
  { capacity, flood = 10 * capacity, within = 0, cost = 1 }: Bypass,
): Guesses {
  const store = make(capacity);
  let now = START;
  const api = limiter(algorithm, { store, prefix: "attack", clock: () => now });
  for (let key = 0; key < capacity; key++) api.consume(`filled ${key}`);
  let admitted = 0;
  let due = 0;
  let state = algorithm.initial;
  for (let key = 0; key < flood; key++) {
    now = START + Math.floor((key * within) / flood);
    api.consume(`made up ${key}`, cost);
    if (api.consume("account").allowed) admitted++;
    const [{ allowed }, next] = algorithm.step(state, now, 1);
    if (allowed) due++;
    state = next;
  }
  store.close();
  return { admitted, due };
}

/** How many of some refused keys are refused no more after a flood of keys used once. */
export function refusedKeysFreed(
  make: MakeStore,
  algorithm: Algorithm,
  { capacity, refused, flood = 10 * capacity }: Bypass & { readonly refused: number },
): number {
  const store = make(capacity);
  const api = limiter(algorithm, { store, prefix: "flood", clock: () => START });
  const blocked = Array.from({ length: refused }, (_, key) => `refused ${key}`);
  for (const key of blocked) api.consume(key, algorithm.capacity);
  for (let key = 0; key < flood; key++) api.consume(`made up ${key}`);
  const freed = blocked.filter((key) => api.peek(key).allowed).length;
  store.close();
  return freed;
}
