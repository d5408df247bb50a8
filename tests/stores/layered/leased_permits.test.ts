import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import type { Family } from "../../../core/store.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { hold as holdVerb } from "../../../core/verbs/hold.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { release } from "../../../core/verbs/release.ts";
import {
  type Algorithm,
  all,
  type AsyncLimiter,
  type AsyncStore,
  blockable,
  concurrency,
  consumeAll,
  type Decision,
  gcra,
  hold,
  type Limiter,
  limiter,
  memoryStore,
} from "../../../mod.ts";
import { lease } from "../../../stores/layered/layered.ts";
import { compareAndSetStore } from "../../../stores/stores.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { promised } from "../../support/promised_store.ts";
import { mapDriver } from "../../support/drivers/map_driver.ts";
import { fcOptions } from "../../support/seed.ts";

const TTL = 3_000;
const JOBS = concurrency({ limit: 50_000, ttl: TTL });
/** For tests in real time: no pause of a busy machine is a tenth of it. */
const LONG = "1d";
const BLOCK = { units: 100, ttl: "1m" } as const;

/** A limiter that leases permits from a store, and the holder that delays the store's answers. */
function promisedLease(limit: Algorithm<unknown, "permits">, units: number, inner = memoryStore()) {
  const { store, held } = promised(inner);
  const leased = lease(store, { units, ttl: "1m" });
  const jobs: AsyncLimiter<"permits"> = limiter(limit, { store: leased, prefix: "a" });
  return { jobs, held };
}

/** The answers of calls, whose store's answers are let go until all of them have come. */
async function answered<Value>(
  held: ReturnType<typeof promised>["held"],
  calls: Promise<Value> | readonly Promise<Value>[],
  onTurn = () => {},
): Promise<Value[]> {
  let isOver = false;
  const answers = Promise.all([calls].flat() as Promise<Value>[]).finally(() => isOver = true);
  while (!isOver) {
    onTurn();
    held.release();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return await answers;
}

/** A store in memory, and how many calls have come to it, and how many of them were no looks. */
function counted() {
  let [calls, writes] = [0, 0];
  const store = interceptedStore(memoryStore(), ([call], proceed) => {
    calls++;
    if (call!.verb.kind !== "look") writes++;
    return proceed();
  });
  return { store, calls: () => calls, writes: () => writes };
}

describe("permits of a lease", () => {
  test("are exactly as many as the limit, in two processes, by few calls to the store", () => {
    const { store, calls, writes } = counted();
    const jobs = concurrency({ limit: 5_000, ttl: LONG });
    const limiters = [1, 2].map(() => limiter(jobs, { store: lease(store, BLOCK), prefix: "a" }));
    const held = Array.from({ length: 5_050 }, (_, call) => hold(limiters[call % 2]!, "key"));
    assert.equal(held.filter(({ permit }) => permit).length, 5_000);
    // The first refusal tells a process that the store has nothing left.
    for (const jobs of limiters) assert.equal(hold(jobs, "key").permit, undefined);
    const written = writes();
    for (const jobs of limiters) assert.equal(hold(jobs, "key").permit, undefined);
    assert.equal(writes(), written, "a refusal looks, and writes nothing");
    assert.ok(calls() < 5_000 / 100 + 60, `${calls()} calls`);
    assert.equal(limiters[0]!.peek("key", 0).remaining, 0);
    const before = calls();
    for (const { permit } of held) permit?.release();
    assert.ok(calls() - before < 2 * 5_000 / 50 + 2, `${calls() - before} calls`);
    const { remaining } = limiter(jobs, { store, prefix: "a" }).peek("key", 0);
    assert.ok(remaining >= 5_000 - 2 * 100, `${remaining} of 5,000 are back`);
    assert.equal(hold(limiters[1]!, "key", { cost: remaining }).decision.allowed, true);
  });

  test("are a short text in the store, and count beside single ones", async () => {
    const rows = new Map();
    const store = compareAndSetStore(mapDriver(rows), { deadline: 30_000, timeout: 60_000 });
    const small = concurrency({ limit: 1_000, ttl: LONG });
    const leased = limiter(small, { store: lease(store, BLOCK), prefix: "a" });
    const single = limiter(small, { store, prefix: "a" });
    const own = await hold(single, "key", { cost: 300 });
    const held = await Promise.all(Array.from({ length: 750 }, () => hold(leased, "key")));
    assert.equal(held.filter(({ permit }) => permit).length, 700);
    assert.ok(JSON.stringify([...rows.values()]).length < 150);
    await Promise.all([own, ...held].map(({ permit }) => permit?.release()));
    assert.equal((await leased.peek("key", 0)).remaining, 1_000);
    await store.close();
  });

  test("that nobody needs are given back a while later", async () => {
    const inner = memoryStore();
    const store = lease(inner, { units: 100, ttl: 20 });
    const algorithm = concurrency({ limit: 50_000, ttl: LONG });
    const jobs = limiter(algorithm, { store, prefix: "a" });
    const exact = limiter(algorithm, { store: inner, prefix: "a" });
    const [one, other] = [hold(jobs, "key"), hold(jobs, "key")];
    one.permit!.release();
    while (exact.peek("key", 0).remaining < 49_999) {
      await new Promise((wake) => setTimeout(wake, 5));
    }
    other.permit!.release();
    while (exact.peek("key", 0).remaining < 50_000) {
      await new Promise((wake) => setTimeout(wake, 5));
    }
  });

  test("are none of the units that are being given back", async () => {
    const inner = memoryStore();
    const limit = concurrency({ limit: 20, ttl: LONG });
    const { jobs, held } = promisedLease(limit, 4, inner);
    const others = limiter(limit, { store: inner, prefix: "a" });
    const [first] = await answered(held, hold(jobs, "key"));
    // The store learns at once that two of the five units are enough; its answer is under way.
    first!.permit!.release();
    assert.equal(held.count(), 1);
    const next = hold(jobs, "key", { cost: 4 });
    assert.equal(hold(others, "key", { cost: 18 }).decision.allowed, true);
    assert.equal((await answered(held, next))[0]!.decision.allowed, false);
  });

  test("of a process that is cut off are lost before the store gives them to others", async () => {
    const clock = virtualClock(1_000_000);
    const { store, held: answers } = promised(memoryStore());
    let isAway = false;
    const cutOff = interceptedStore(store, (_, proceed) => {
      if (isAway) return Promise.reject(new Error("away")) as never;
      return proceed();
    });
    const limit = concurrency({ limit: 5, ttl: TTL });
    const jobs = limiter(limit, {
      store: lease(cutOff, { units: 2, ttl: 50 }) as AsyncStore,
      prefix: "a",
      clock,
    });
    const others = limiter(limit, { store, prefix: "a", clock });
    const decided = async <T>(answer: Promise<T>) => (answers.release(), await answer);
    const first = hold(jobs, "key", { cost: 5 });
    // Asked for at 0, answered a while later.
    await clock.pass(200);
    const { permit } = await decided(first);
    isAway = true;
    // Held at the last instant at which the answer still counts as fresh.
    await clock.pass(TTL - 201);
    assert.equal(permit!.signal.aborted, true);
    assert.equal((await decided(hold(others, "key"))).decision.allowed, false);
    await clock.pass(201);
    assert.equal((await decided(hold(others, "key", { cost: 5 }))).decision.allowed, true);
  });

  test("are held from units of a share for no longer than its last message says", async () => {
    const clock = virtualClock(1_000_000);
    const inner = memoryStore();
    let isAway = false;
    const store = interceptedStore(inner, (_, proceed) => {
      if (isAway) throw new Error("away");
      return proceed();
    });
    const jobs = limiter(JOBS, { store: lease(store, BLOCK), prefix: "a", clock });
    hold(jobs, "key");
    isAway = true;
    await clock.pass(TTL / 10 - 1);
    const { permit } = hold(jobs, "key");
    assert.ok(permit);
    await clock.pass(1);
    assert.throws(() => hold(jobs, "key"), /away/);
    const { signal } = permit;
    await clock.pass(TTL - TTL / 10 - 2);
    assert.equal(signal.aborted, false);
    await clock.pass(1);
    assert.equal(signal.aborted, true);
  });

  test("are lost when their key is reset, and the next ones begin anew", async () => {
    const clock = virtualClock(1_000_000);
    const inner = memoryStore();
    const jobs = limiter(JOBS, { store: lease(inner, BLOCK), prefix: "a", clock });
    const elsewhere = limiter(JOBS, { store: inner, prefix: "a", clock });
    const { permit } = hold(jobs, "key");
    const { signal } = permit!;
    elsewhere.reset("key");
    await clock.pass(TTL / 3);
    assert.equal(signal.aborted, true);
    assert.equal(permit!.release(), false);
    assert.equal(hold(jobs, "key", { cost: 50_000 }).decision.allowed, true);
    jobs.reset("key");
    assert.equal(hold(jobs, "key", { cost: 50_000 }).decision.allowed, true);
  });

  test("wait for each other, and for units that another process gives back", async () => {
    const limit = concurrency({ limit: 2, ttl: LONG });
    const inner = memoryStore();
    const open = () => limiter(limit, { store: lease(inner, { units: 2, ttl: 10 }), prefix: "a" });
    const [one, other] = [open(), open()];
    const { permit } = hold(one, "key");
    assert.equal(hold(other, "key").permit, undefined);
    const waiting = hold(other, "key", { cost: 2, maxWait: "1m" });
    permit!.release();
    assert.ok((await waiting).permit);
  });

  test("many callers at once share a message, and each is answered by what it asks for", async () => {
    const { jobs, held } = promisedLease(concurrency({ limit: 20, ttl: LONG }), 4);
    const calls = Array.from(
      { length: 30 },
      (_, call) => hold(jobs, "key", { cost: 1 + call % 2 }),
    );
    let most = 0;
    const answers = await answered(held, calls, () => most = Math.max(most, held.count()));
    assert.equal(most, 1);
    const permits = answers.map(({ permit }) => permit);
    const units = permits.reduce((sum, permit, call) => sum + (permit ? 1 + call % 2 : 0), 0);
    assert.equal(units, 20);
  });

  test("a small call is not refused with a large one whose look it shares", async () => {
    const inner = memoryStore();
    const limit = concurrency({ limit: 4, ttl: LONG });
    const { jobs, held } = promisedLease(limit, 2, inner);
    const other = hold(limiter(limit, { store: inner, prefix: "a" }), "key").permit!;
    // The store has no permits left, and says so.
    await answered(held, hold(jobs, "key", { cost: 1 }));
    await answered(held, hold(jobs, "key", { cost: 2 }));
    other.release();
    const calls = [hold(jobs, "key", { cost: 2 }), hold(jobs, "key", { cost: 1 })];
    const verdicts = (await answered(held, calls)).map(({ decision }) => decision.allowed);
    assert.deepEqual(verdicts, [false, true]);
  });

  test("two calls at once with one id hold one permit", async () => {
    const { store, held } = promised(memoryStore());
    const leased = lease(store, { units: 4, ttl: "1m" });
    const family = leased.open({
      prefix: "a",
      algorithm: concurrency({ limit: 20, ttl: LONG }),
      older: [],
    });
    const permit = { id: 7, cost: 3 };
    const calls = [1, 2].map(() => family.bind(holdVerb).call("key", permit, undefined));
    held.release();
    for (const decision of await Promise.all(calls)) assert.equal(decision.remaining, 17);
    const fill = Promise.resolve(family.bind(holdVerb).call("key", { id: 8, cost: 17 }, undefined));
    held.release();
    assert.equal((await fill).allowed, true);
  });

  test("are not lost by a look that was asked for before their share", async () => {
    const clock = virtualClock(1_000_000);
    const { store, held } = promised(memoryStore());
    const jobs: AsyncLimiter<"permits"> = limiter(concurrency({ limit: 20, ttl: TTL }), {
      store: lease(store, { units: 4, ttl: "1m" }),
      prefix: "a",
      clock,
    });
    const look = jobs.peek("key", 0);
    await clock.pass(5);
    const holding = hold(jobs, "key");
    held.releaseLast();
    const { permit } = await holding;
    held.release();
    await look;
    const released = permit!.release();
    held.release();
    assert.equal(await released, true);
  });

  test("of one process are answered as single ones are, but for when they expire", () => {
    const step = fc.record({
      verb: fc.constantFrom(holdVerb, holdVerb, holdVerb, release, peek),
      id: fc.integer({ min: 1, max: 8 }),
      cost: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 14 })),
    });
    const steps = fc.array(step, { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(fc.nat(12), fc.integer({ min: 2, max: 6 }), steps, (limit, units, steps) => {
        const spec = { prefix: "a", algorithm: concurrency({ limit, ttl: TTL }), older: [] };
        const [exact, leased] = [memoryStore(), lease(memoryStore(), { units, ttl: "1m" })]
          .map((store) => store.open(spec));
        for (const { verb, id, cost } of steps) {
          const [wanted, answer] = [exact!, leased!].map((family) => {
            const bound = family.bind(verb as typeof holdVerb);
            const argument = (verb as unknown) === peek ? cost : { id, cost };
            return bound.call("key", argument as never, 1_000_000) as Decision;
          }) as [Decision, Decision];
          const { allowed, remaining, retryAfter } = answer;
          const isExact = verb !== release;
          assert.deepEqual(
            [allowed, retryAfter === 0, retryAfter === Infinity, isExact && remaining],
            [
              wanted.allowed,
              wanted.retryAfter === 0,
              wanted.retryAfter === Infinity,
              isExact && wanted.remaining,
            ],
          );
        }
      }),
      fcOptions({ numRuns: 200 }),
    );
  });

  test("are not dropped with the keys for which there is no room", () => {
    const store = lease(memoryStore(), { units: 2, ttl: "1m", maxKeys: 1 });
    const jobs = limiter(concurrency({ limit: 5, ttl: LONG }), { store, prefix: "a" });
    const permits = ["first", "second", "third"].map((key) => hold(jobs, key).permit!);
    for (const permit of permits) assert.equal(permit.release(), true);
  });

  test("stay held while a failure policy answers for the store, and ask for no more than they need", async () => {
    const clock = virtualClock(1_000_000);
    const inner = memoryStore();
    let isAway = false;
    const store = interceptedStore(inner, ([call], proceed) => {
      const answers = proceed();
      if (!isAway) return answers;
      const { verb } = call!;
      return [verb.answerOf({ ...verb.decisionOf(answers[0]), source: "policy" })];
    });
    const jobs = limiter(JOBS, {
      store: lease(store, { units: 100, ttl: 50 }),
      prefix: "a",
      clock,
    });
    const exact = limiter(JOBS, { store: inner, prefix: "a", clock });
    const { permit } = hold(jobs, "key");
    assert.equal(exact.peek("key", 0).remaining, 50_000 - 101);
    // Nobody has needed the others for longer than the lease keeps them.
    await clock.pass(TTL / 3);
    assert.equal(exact.peek("key", 0).remaining, 50_000 - 1);
    isAway = true;
    await clock.pass(TTL / 3);
    assert.equal(permit!.signal.aborted, false);
    isAway = false;
    assert.equal(permit!.release(), true);
  });

  test("go to waiting callers first", async () => {
    const { jobs, held } = promisedLease(concurrency({ limit: 7, ttl: LONG }), 4);
    const first = hold(jobs, "key");
    held.release();
    await first;
    // Four units are left here, and the first of two callers needs six.
    const calls = [6, 1].map((cost) => hold(jobs, "key", { cost }));
    const decisions = (await answered(held, calls)).map(({ decision }) => decision);
    assert.deepEqual(decisions.map(({ allowed }) => allowed), [true, false]);
  });

  test("that are refused by the answer to another call say to wait", async () => {
    const { jobs, held } = promisedLease(concurrency({ limit: 20, ttl: LONG }), 4);
    // The third call asks for the fourth as well, which then gets no permit.
    const calls = [1, 1, 5, 14].map((cost) => hold(jobs, "key", { cost }));
    const decisions = (await answered(held, calls)).map(({ decision }) => decision);
    assert.deepEqual(decisions.map(({ allowed }) => allowed), [true, true, true, false]);
    assert.ok(decisions[3]!.retryAfter >= 1);
  });

  test("a failure of the store is that of each call, and nothing is held", () => {
    let isAway = true;
    const store = interceptedStore(memoryStore(), (_, proceed) => {
      if (isAway) throw new Error("away");
      return proceed();
    });
    const jobs = limiter(JOBS, { store: lease(store, BLOCK), prefix: "a" });
    assert.throws(() => hold(jobs, "key"), /away/);
    isAway = false;
    assert.equal(hold(jobs, "key", { cost: 50_000 }).decision.allowed, true);
  });

  for (const failing of ["second", "rate"]) {
    test(`of several calls at once are all free where the ${failing} fails`, () => {
      let isAway = false;
      const inner = interceptedStore(memoryStore(), (calls, proceed) => {
        isAway ||= calls.some(({ bound }) => bound.family.spec.prefix === failing);
        if (isAway) throw new Error("away");
        return proceed();
      });
      const store = lease(inner, { units: 2, ttl: "1m" });
      const algorithm = concurrency({ limit: 10, ttl: LONG });
      const [first, second] = ["first", "second"].map((prefix) =>
        store.open({ prefix, algorithm, older: [] })
      ) as [Family, Family];
      const rate = store.open({
        prefix: "rate",
        algorithm: gcra({ limit: 1, period: "1h", burst: 1 }),
        older: [],
      });
      const holds = [first, first, second].map((family, index) => ({
        bound: family.bind(holdVerb),
        key: `key ${index}`,
        argument: { id: 1 + index, cost: 3 },
      }));
      const operations = [...holds, { bound: rate.bind(consume), key: "key", argument: 1 }];
      assert.throws(() => store.run(operations, undefined), /away/);
      // Each key has all of its units, and the store is there again for two of them.
      isAway = false;
      for (const { key } of holds.slice(0, 2)) {
        const { allowed } = first.bind(holdVerb).call(
          key,
          { id: 9, cost: 10 },
          undefined,
        ) as Decision;
        assert.equal(allowed, true);
      }
    });
  }

  test("of a call that comes again stay held where it is refused with others", () => {
    const store = lease(memoryStore(), { units: 2, ttl: "1m" });
    const open = (prefix: string, algorithm: Algorithm) =>
      store.open({ prefix, algorithm, older: [] });
    const jobs = open("jobs", concurrency({ limit: 10, ttl: LONG }));
    const rate = open("rate", gcra({ limit: 1, period: "1h", burst: 1 }));
    const run = (ids: readonly number[]) =>
      store.run([
        ...ids.map((id) => ({
          bound: jobs.bind(holdVerb),
          key: `key ${id}`,
          argument: { id, cost: 3 },
        })),
        { bound: rate.bind(consume), key: "key", argument: 1 },
      ], undefined) as Decision[];
    assert.deepEqual(run([1]).map(({ allowed }) => allowed), [true, true]);
    // The first permit is renewed, the second one is released again.
    assert.deepEqual(run([1, 2]).map(({ allowed }) => allowed), [true, true, false]);
    const left = [1, 2].map((id) => jobs.bind(peek).call(`key ${id}`, 0, undefined) as Decision);
    assert.deepEqual(left.map(({ remaining }) => remaining), [7, 10]);
  });

  test("not of several limits in one, nor of a limit that can be blocked", () => {
    const store = lease(memoryStore(), BLOCK);
    for (
      const algorithm of [all(JOBS, gcra({ limit: 1, period: "1m", burst: 1 })), blockable(JOBS)]
    ) {
      assert.throws(
        () => limiter(algorithm, { store, prefix: "a" }),
        /concurrency must stand alone/,
      );
    }
    const jobs = limiter(JOBS, { store, prefix: "a" });
    const units = jobs as never as Limiter;
    assert.throws(() => units.consume("key"), TypeError);
    assert.throws(() => consumeAll([{ limiter: units, key: "key" }]), TypeError);
  });
});
