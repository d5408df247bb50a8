/*
 * Reservations with a time to live over a bad network: settlements are lost, doubled and late, and so
 * are reservations. Beside each store is a timer model: a plain state, and a list of timers that give
 * back what nobody has settled. `npm run receipts` runs a million steps of it.
 */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";

import {
  type Algorithm,
  all,
  blockable,
  fixedWindow,
  gcra,
  leakyBucket,
  limiter,
  memoryStore,
  type Receipt,
  slidingCounter,
  slidingLog,
  type SyncStore,
} from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { isLong, seed } from "../../support/seed.ts";

const STEPS = isLong() ? 80_000 : 200;
const TTL = 4_000;
const RATE = { limit: 40, period: "20s" } as const;
const BUCKET = { ...RATE, burst: 40 } as const;
const ALGORITHMS: readonly Algorithm[] = [
  gcra(BUCKET),
  leakyBucket(BUCKET),
  fixedWindow(RATE),
  slidingLog(RATE),
  slidingCounter(RATE),
  blockable(gcra(BUCKET) as Algorithm),
  all(gcra(BUCKET), fixedWindow({ limit: 200, period: "1m" })),
] as readonly Algorithm[];
const STORES: Readonly<Record<string, () => SyncStore>> = {
  memory: () => memoryStore(),
  shared: () => sharedStore({ capacity: 8 }),
};

/** A message on its way. */
interface Message {
  readonly at: number;
  readonly receipt: Receipt | undefined;
  readonly units: number;
}

/** A timer of the model. */
interface Timer {
  readonly receipt: Receipt;
}

/** Whole random numbers below a bound. */
function randomFrom(seed: number): (bound: number) => number {
  let state = seed >>> 0 || 1;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

/** Runs one algorithm on one store; answers how many messages of each fate there were. */
function overNetwork(algorithm: Algorithm, store: SyncStore, seed: number) {
  const random = randomFrom(seed);
  const { receipts } = algorithm.internals!;
  const fates = { steps: 0, lost: 0, doubled: 0, late: 0, settled: 0, expired: 0, unknown: 0 };
  let now = 1_000_000;
  const api = limiter(algorithm, { store, prefix: "api", clock: () => now });
  let plain: unknown = algorithm.initial;
  let timers: Timer[] = [];
  const messages: Message[] = [];

  function send(message: Message): void {
    const place = messages.findIndex(({ at }) => at > message.at);
    messages.splice(place === -1 ? messages.length : place, 0, message);
  }

  /** Sends a message that may be lost, doubled or late, by up to three times to live. */
  function sendBadly(receipt: Receipt | undefined, units: number, delay: number): void {
    const fate = random(100);
    if (fate < 8) return void fates.lost++;
    const isLate = fate < 17;
    if (isLate) fates.late++;
    send({ at: now + delay + (isLate ? random(3 * TTL) : 0), receipt, units });
    if (fate < 90 || receipt === undefined) return;
    fates.doubled++;
    send({ at: now + delay + random(3 * TTL), receipt, units });
  }

  function runTimers(): void {
    const due = timers.filter(({ receipt }) => receipt.until <= now)
      .sort((one, other) => one.receipt.until - other.receipt.until);
    for (const { receipt: { until, units, marks } } of due) {
      plain = receipts!.giveBack(plain, until, units, marks, true)[0];
    }
    timers = timers.filter(({ receipt }) => receipt.until > now);
  }

  function reserve(units: number): void {
    const { decision, receipt } = api.reserve("key", units, { ttl: TTL });
    const [wanted, next] = algorithm.step(plain, now, units);
    assert.equal(decision.allowed, wanted.allowed);
    assert.equal(decision.remaining, wanted.remaining);
    plain = next;
    if (receipt === undefined) return;
    assert.equal(receipt.expires, true);
    timers.push({ receipt });
    // The answer may be lost as well: then nobody settles.
    if (random(100) < 8) return void fates.lost++;
    sendBadly(receipt, random(units + 3), random(2 * TTL));
  }

  function settle(receipt: Receipt, actual: number): void {
    const { outcome, returned, charged } = api.settle("key", receipt, actual);
    const isOpen = timers.some((timer) => timer.receipt.id === receipt.id);
    timers = timers.filter((timer) => timer.receipt.id !== receipt.id);
    const { units, marks, until } = receipt;
    let given = 0;
    if (isOpen && actual > units) plain = algorithm.charge(plain, now, actual - units)[1];
    if (isOpen && actual < units) {
      [plain, given] = receipts!.giveBack(plain, now, units - actual, marks, true);
    }
    assert.equal(outcome, isOpen ? "settled" : now >= until ? "expired" : "unknown");
    assert.equal(returned, given);
    assert.equal(charged, isOpen ? Math.max(0, actual - units) : 0);
    fates[outcome]++;
  }

  for (; fates.steps < STEPS; fates.steps++) {
    // A step handles one message, and a reservation leads to a second one: with one in each step, ever
    // more messages would queue, and nearly all settlements would come after their time to live.
    if (random(5) < 2) sendBadly(undefined, 1 + random(4), random(50));
    const message = messages.shift();
    now = Math.max(now + random(120), message?.at ?? 0);
    runTimers();
    if (message?.receipt !== undefined) settle(message.receipt, message.units);
    else if (message !== undefined) reserve(message.units);
    const [found, wanted] = [api.peek("key", 0), algorithm.step(plain, now, 0)[0]];
    assert.equal(found.remaining, wanted.remaining);
    assert.equal(found.debt, wanted.debt);
  }
  now += 10 * TTL;
  runTimers();
  assert.equal(timers.length, 0);
  assert.equal(api.peek("key", 0).remaining, algorithm.step(plain, now, 0)[0].remaining);
  return fates;
}

describe("reservations over a bad network agree with a timer model", () => {
  for (const [name, make] of Object.entries(STORES)) {
    ALGORITHMS.forEach((algorithm, index) => {
      test(`${name}: ${algorithm.id}`, (context) => {
        const fates = overNetwork(algorithm, make(), seed() + 1 + index);
        const fewest = isLong() ? STEPS / 1_000 : 0;
        assert.ok(fates.settled > 100 * fewest && fates.lost > 0, JSON.stringify(fates));
        assert.ok(fates.expired >= fewest && fates.unknown >= fewest, JSON.stringify(fates));
        if (isLong()) (context as TestContext).diagnostic(JSON.stringify(fates));
      });
    });
  }
});
