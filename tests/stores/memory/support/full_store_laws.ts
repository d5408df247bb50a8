/*
 * The laws of a full memory store: those of any store, and what holds because it looks at many keys
 * before it forgets one.
 */

import fc from "fast-check";

import { type Law, law } from "../../../../adapters/testing/law.ts";
import {
  type Algorithm,
  consumeAll,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
} from "../../../../mod.ts";
import { EVICTION_LIMIT, evictionLaw, evictionSubjects } from "../../../support/eviction_law.ts";
import { upTo } from "../../../support/seed.ts";

const KEYS = 200;
const START = 1_790_000_000_000;
const subjects = Object.entries(evictionSubjects);
const subject = fc.constantFrom(...subjects.map(([, algorithm]) => algorithm));

/** Laws for each algorithm, and for one at random. */
export const fullStoreLaws: readonly Law[] = [
  ...subjects.map(([name, algorithm]) => ({
    ...evictionLaw((maxKeys) => memoryStore({ maxKeys }), algorithm),
    name: `${name}: the key that gives away the least goes`,
  })),
  law("keys used up stay, also where they are most, and one call at a time", moreUsedStay(5, 0.9)),
  law("keys with more use stay", moreUsedStay(4, 0.25)),
  law(
    "keys that charges have used up stay, also where they are most",
    moreUsedStay(5, 0.9, (api, user) => api.charge(user)),
  ),
  law("keys that were used up, and have drained, go before keys with more use", drainedGo()),
  law("a key that has drained goes before one used up, or in debt", drainedAloneGoes()),
  law("no new key goes while others with less use are there", newcomersStay()),
  law("a flood of several keys at once goes before keys used up", batchesGo()),
  law("chance decides among keys with equal use", chanceDecides()),
];

function openLimiter(algorithm: Algorithm): Limiter {
  const store = memoryStore({ maxKeys: KEYS });
  return limiter(algorithm, { store, prefix: "law", clock: () => START });
}

/** How many of some users are held. */
function heldOf(api: Limiter, users: readonly string[]): number {
  return users.filter((user) => api.peek(user, 0).resetAfter > 0).length;
}

/** All keys but a share of them are used once; then as many are made up. */
function moreUsedStay(
  used: number,
  share: number,
  take = (api: Limiter, user: string): unknown => api.consume(user),
): fc.IRawProperty<unknown, boolean> {
  return fc.property(subject, (algorithm) => {
    const api = openLimiter(algorithm);
    const users = upTo(KEYS).map(String);
    const heavy = users.slice(0, share * KEYS);
    for (const user of users) api.consume(user);
    for (let more = 1; more < used; more++) heavy.forEach((user) => take(api, user));
    for (let call = 0; call < KEYS; call++) api.consume(`made up ${call}`);
    return heldOf(api, heavy) === heavy.length;
  }) as fc.IRawProperty<unknown, boolean>;
}

/** Half a full store's keys use a little, and half of them much, after all were used up. */
function drainedGo(): fc.IRawProperty<unknown, boolean> {
  return fc.property(fc.integer({ min: 1, max: 9 }), (tenths) => {
    const { api, pass } = drainingLimiter();
    const users = upTo(KEYS).map(String);
    for (const user of users) api.consume(user, 10);
    pass(8 + tenths / 10);
    const heavy = users.slice(0, KEYS / 2);
    for (const user of users) api.consume(user, 1);
    for (const user of heavy) api.consume(user, 6);
    for (let call = 0; call < KEYS; call++) api.consume(`made up ${call}`);
    return heldOf(api, heavy) === heavy.length;
  }) as fc.IRawProperty<unknown, boolean>;
}

/**
 * One of two keys has drained since it was used up or in debt; then the other one is, and a third
 * comes.
 */
function drainedAloneGoes(): fc.IRawProperty<unknown, boolean> {
  return fc.property(
    fc.constantFrom<"consume" | "charge">("consume", "charge"),
    fc.integer({ min: 0, max: 3 }),
    (verb, debt) => {
      const { api, pass } = drainingLimiter(2);
      api.charge("drained", 10 + debt);
      pass(debt + (debt > 0 ? 1 : 8));
      api[verb]("drained");
      api.charge("heavy", 10 + debt);
      api.consume("made up");
      return heldOf(api, ["heavy"]) === 1;
    },
  ) as fc.IRawProperty<unknown, boolean>;
}

/** All keys used much once, and use little now; then others come that use more. */
function newcomersStay(): fc.IRawProperty<unknown, boolean> {
  return fc.property(fc.integer({ min: 1, max: 9 }), (tenths) => {
    const { api, pass } = drainingLimiter();
    const users = upTo(KEYS).map(String);
    for (const user of users) api.consume(user, 8);
    pass(7 + tenths / 10);
    for (const user of users) api.consume(user);
    const newcomers = upTo(KEYS / 4).map((index) => `new ${index}`);
    for (const user of newcomers) api.consume(user, 5);
    return heldOf(api, newcomers) === newcomers.length;
  }) as fc.IRawProperty<unknown, boolean>;
}

/** A limit of ten units on a full store. One unit comes back each hour. */
function drainingLimiter(maxKeys = KEYS) {
  let now = START;
  const store = memoryStore({ maxKeys });
  const algorithm = gcra({ limit: 1, period: "1h", burst: 10 });
  const api = limiter(algorithm, { store, prefix: "law", clock: () => now });
  return { api, pass: (hours: number) => now += hours * 3_600_000 };
}

function batchesGo(): fc.IRawProperty<unknown, boolean> {
  return fc.property(subject, (algorithm) => {
    const api = openLimiter(algorithm);
    const users = upTo(KEYS / 2).map(String);
    for (const user of users) api.consume(user, EVICTION_LIMIT);
    for (let call = 0; call < 2 * KEYS; call++) {
      consumeAll(["one", "other"].map((side) => ({ limiter: api, key: `${side} ${call}` })));
    }
    return heldOf(api, users) === users.length;
  }) as fc.IRawProperty<unknown, boolean>;
}

/** After n further keys, n / e of the first n should be left, and a stranger cannot choose which. */
function chanceDecides(): fc.IRawProperty<unknown, boolean> {
  return fc.property(subject, (algorithm) => {
    const api = openLimiter(algorithm);
    const users = upTo(2 * KEYS).map(String);
    for (const user of users) api.consume(user);
    const old = heldOf(api, users.slice(0, KEYS));
    return old > KEYS / 8 && old < KEYS * 5 / 8;
  }) as fc.IRawProperty<unknown, boolean>;
}
