import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  acquire,
  all,
  type AsyncLimiter,
  block,
  blockable,
  concurrency,
  gcra,
  type Held,
  hold,
  leakyQueue,
  type Limiter,
  limiter,
  memoryStore,
  type Permit,
  RateLimitedError,
  type StoreLimiterOptions,
  StoreUnavailableError,
  withPermit,
} from "../../../mod.ts";
import { denyCache, fallback, lease } from "../../../stores/layered/layered.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { testClock } from "../../support/test_clock.ts";

const TTL = 900;

function held<Mode extends "sync" | "async">({ permit }: Held<Mode>): Permit<Mode> {
  assert.ok(permit);
  return permit;
}

/** A limiter of two permits by a test's clock. */
function two(options: Partial<StoreLimiterOptions> & { maxHold?: number } = {}) {
  const clock = testClock();
  const { maxHold, ...others } = options;
  const algorithm = concurrency({ limit: 2, ttl: TTL, maxHold });
  const own = { clock, store: memoryStore(), prefix: "jobs", ...others };
  return {
    clock,
    jobs: limiter(
      algorithm,
      own as StoreLimiterOptions & { store: ReturnType<typeof memoryStore> },
    ),
  };
}

describe("a permit on a store that answers at once", () => {
  test("is held until it is released, and a second release frees nobody else's", () => {
    const { jobs } = two();
    const first = held(hold(jobs, "key"));
    held(hold(jobs, "key"));
    const refused = hold(jobs, "key");
    assert.deepEqual([refused.decision.allowed, refused.permit], [false, undefined]);
    assert.equal(refused.decision.retryAfter, TTL);
    assert.equal(first.release(), true);
    held(hold(jobs, "key"));
    assert.equal(first.release(), false);
    assert.equal(jobs.peek("key", 0).remaining, 0);
  });

  test("is released at the end of a block", async () => {
    const { jobs } = two();
    const one = hold(jobs, "key");
    const other = hold(jobs, "key");
    const refused = hold(jobs, "key");
    refused[Symbol.dispose]();
    one[Symbol.dispose]();
    held(other)[Symbol.dispose]();
    assert.equal(jobs.peek("key", 0).remaining, 2);
    await one[Symbol.asyncDispose]();
    assert.equal(jobs.peek("key", 0).remaining, 2);
  });

  test("is renewed until maxHold, then lost, and its signal says so", async () => {
    // The end falls between two renewals.
    const { clock, jobs } = two({ maxHold: 10 * TTL + 1 });
    const permit = held(hold(jobs, "key"));
    const { signal } = permit;
    await clock.advance(10 * TTL);
    assert.deepEqual([signal.aborted, jobs.peek("key", 0).remaining], [false, 1]);
    await clock.advance(1);
    assert.deepEqual([signal.aborted, jobs.peek("key", 0).remaining], [true, 2]);
    assert.match(String(signal.reason), /PermitLostError: .*"key".*maxHold/);
    assert.equal(permit.release(), false);
  });

  test("is lost when the store no longer holds it, and never comes back", async () => {
    const { clock, jobs } = two();
    const permit = held(hold(jobs, "key"));
    jobs.reset("key");
    await clock.advance(TTL / 3 + 1);
    assert.equal(permit.signal.aborted, true);
    assert.equal(jobs.peek("key", 0).remaining, 2);
  });

  test("leaves no timer behind that does anything", async () => {
    const { clock, jobs } = two();
    held(hold(jobs, "key")).release();
    await clock.advance(TTL);
    assert.equal(clock.waiting(), 0);
  });
});

describe("calls that would take units of permits", () => {
  const mixed = all(
    concurrency({ limit: 2, ttl: TTL }),
    gcra({ limit: 9, period: "1m", burst: 9 }),
  );

  for (const algorithm of [concurrency({ limit: 2, ttl: TTL }), mixed]) {
    test(`on ${algorithm.id} they throw an error that names hold`, async () => {
      const jobs = limiter(algorithm);
      const says = (name: string) => ({
        name: "TypeError",
        message: new RegExp(`${name} .*call hold`),
      });
      const units = jobs as never as Limiter;
      assert.throws(() => units.consume("key"), says("consume"));
      assert.throws(() => units.charge("key"), says("charge"));
      assert.throws(() => units.refund("key"), says("refund"));
      await assert.rejects(acquire(units, "key"), says("acquire"));
      assert.equal(jobs.peek("key", 0).remaining, 2);
    });
  }

  test("a permit of anything else is an error that names concurrency", async () => {
    const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }));
    const says = { name: "TypeError", message: /concurrency/ };
    assert.throws(() => hold(api as never, "key"), says);
    await assert.rejects(withPermit(api as never, "key", () => 1), says);
    const queued = () => limiter(all(mixed, leakyQueue({ limit: 9, period: "1m", queue: 3 })));
    assert.throws(queued, { name: "TypeError", message: /leakyQueue/ });
  });
});

describe("permits beside a rate", () => {
  test("a refusal takes nothing of any part, and a release gives back the permit alone", () => {
    const jobs = limiter(
      all(concurrency({ limit: 1, ttl: TTL }), gcra({ limit: 3, period: "1h", burst: 3 })),
    );
    const first = held(hold(jobs, "key"));
    const refused = hold(jobs, "key");
    assert.deepEqual(refused.decision.parts?.map(({ allowed }) => allowed), [false, true]);
    const left = () => jobs.peek("key", 0).parts?.map(({ remaining }) => remaining);
    assert.deepEqual(left(), [0, 2]);
    first.release();
    assert.deepEqual(left(), [1, 2]);
    held(hold(jobs, "key")).release();
    held(hold(jobs, "key")).release();
    const spent = hold(jobs, "key");
    assert.deepEqual(spent.decision.parts?.map(({ allowed }) => allowed), [true, false]);
    assert.deepEqual(left(), [1, 0]);
  });
});

describe("waiting for a permit", () => {
  for (const makeStore of [memoryStore, asyncMemoryStore]) {
    test(`first come, first served, at each release: ${makeStore.name}`, async () => {
      const { clock, jobs } = two({ store: makeStore() });
      const holders = [await hold(jobs, "key"), await hold(jobs, "key")].map(held);
      const order: number[] = [];
      const waits = [1, 2, 3].map((place) =>
        hold(jobs, "key", { maxWait: "1m" }).then((it) => {
          order.push(place);
          return held(it);
        })
      );
      await clock.advance(1);
      assert.deepEqual(order, []);
      for (const holder of holders) await holder.release();
      await clock.advance(0);
      assert.deepEqual(order, [1, 2]);
      await (await waits[0]!).release();
      await clock.advance(250);
      assert.deepEqual(order, [1, 2, 3]);
      for (const wait of waits) await (await wait).release();
      assert.equal((await jobs.peek("key", 0)).remaining, 2);
    });
  }

  test("a waiter is refused at its maxWait, also behind others, and has taken nothing", async () => {
    const { clock, jobs } = two();
    const holder = held(hold(jobs, "key", { cost: 2 }));
    const long = hold(jobs, "key", { maxWait: 500 });
    const short = hold(jobs, "key", { maxWait: 100 });
    await clock.advance(99);
    let ended = false;
    void short.then(() => ended = true);
    await clock.advance(0);
    assert.equal(ended, false);
    await clock.advance(1);
    const { decision, permit } = await short;
    assert.deepEqual([decision.allowed, decision.retryAfter > 0, permit], [false, true, undefined]);
    await clock.advance(400);
    assert.equal((await long).permit, undefined);
    holder.release();
    assert.equal(jobs.peek("key", 0).remaining, 2);
  });

  test("a maxWait below the time to live is waited out, although no permit would expire by then", async () => {
    const { clock, jobs } = two();
    const holder = held(hold(jobs, "key", { cost: 2 }));
    const wait = hold(jobs, "key", { maxWait: TTL / 9 });
    await clock.advance(20);
    holder.release();
    assert.equal((await wait).decision.allowed, true);
  });

  test("an abort ends the wait, and the callers behind go on", async () => {
    const { clock, jobs } = two();
    const holder = held(hold(jobs, "key", { cost: 2 }));
    const leaving = new AbortController();
    const first = hold(jobs, "key", { maxWait: Infinity, signal: leaving.signal });
    const second = hold(jobs, "key", { maxWait: Infinity });
    await clock.advance(1);
    leaving.abort(new Error("gone"));
    await assert.rejects(first, /gone/);
    holder.release();
    held(await second);
    assert.equal(jobs.peek("key", 0).remaining, 1);
  });

  test("at most maxWaiting wait, and a cost above the limit never does", async () => {
    const { clock, jobs } = two({ maxWaiting: 1 });
    const holder = held(hold(jobs, "key", { cost: 2 }));
    const waits = hold(jobs, "key", { maxWait: "1m" });
    const { decision } = await hold(jobs, "key", { maxWait: "1m" });
    assert.deepEqual([decision.allowed, decision.retryAfter > 0], [false, true]);
    const large = await hold(jobs, "key", { cost: 3, maxWait: "1m" });
    assert.equal(large.decision.retryAfter, Infinity);
    holder.release();
    await clock.advance(0);
    held(await waits);
  });

  test("the permit of a dead holder is taken over when it expires", async () => {
    const { clock, jobs } = two();
    const store = memoryStore();
    const other = two({ store, clock });
    held(hold(other.jobs, "key", { cost: 2 }));
    // Nobody renews it: the timers of its clock no longer run.
    const dead = testClock(clock());
    const dying = limiter(concurrency({ limit: 2, ttl: TTL }), { clock: dead, store, prefix: "b" });
    const living = limiter(concurrency({ limit: 2, ttl: TTL }), { clock, store, prefix: "b" });
    held(hold(dying, "key", { cost: 2 }));
    const wait = hold(living, "key", { maxWait: "1m" });
    await clock.advance(TTL - 1);
    assert.equal(living.peek("key", 0).remaining, 0);
    await clock.advance(1);
    held(await wait);
    assert.equal(jobs.peek("key", 0).remaining, 2);
  });

  test("where the store cannot tell of releases elsewhere, the first one asks again", async () => {
    const store = asyncMemoryStore();
    const clock = testClock();
    const algorithm = concurrency({ limit: 1, ttl: "1m" });
    const here = limiter(algorithm, { store, prefix: "jobs", clock }) as never as AsyncLimiter<
      "permits"
    >;
    // Another object for the same keys, so that no release in it wakes anybody here.
    const elsewhere = limiter(algorithm, { store: denyCache(store), prefix: "jobs", clock });
    const holder = held(await hold(elsewhere, "key"));
    let seen = false;
    const wait = hold(here, "key", { maxWait: "1m" }).then((it) => (seen = true, it));
    await clock.advance(5_000);
    await holder.release();
    assert.equal(seen, false);
    await clock.advance(200);
    assert.equal(seen, true);
    await held(await wait).release();
  });
});

describe("withPermit", () => {
  test("holds while the work runs, and releases when it fails", async () => {
    const { jobs } = two();
    const left = await withPermit(jobs, "key", () => jobs.peek("key", 0).remaining);
    assert.equal(left, 1);
    await assert.rejects(
      withPermit(jobs, "key", () => Promise.reject(new Error("broken"))),
      /broken/,
    );
    assert.equal(jobs.peek("key", 0).remaining, 2);
  });

  test("is refused without a permit, and the work does not run", async () => {
    const { jobs } = two();
    held(hold(jobs, "key", { cost: 2 }));
    const work = () => assert.fail("the work has run");
    await assert.rejects(withPermit(jobs, "key", work), (error) => {
      assert.ok(error instanceof RateLimitedError);
      assert.equal(error.decision.allowed, false);
      assert.match(error.message, /^Cannot hold 1 of "key" as /);
      return true;
    });
  });

  test("the signal of the work is aborted by the caller's, and by a loss", async () => {
    const { clock, jobs } = two();
    const caller = new AbortController();
    const seen = (signal: AbortSignal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
    const aborted = withPermit(jobs, "key", seen, { signal: caller.signal });
    const lost = withPermit(jobs, "other", seen);
    await clock.advance(1);
    caller.abort("enough");
    assert.equal(await aborted, "enough");
    jobs.reset("other");
    await clock.advance(TTL);
    assert.match(String(await lost), /PermitLostError/);
  });
});

describe("stores made of stores", () => {
  test("denyCache hides no release", () => {
    const store = memoryStore();
    const algorithm = concurrency({ limit: 1, ttl: "1m" });
    const cached = limiter(algorithm, { store: denyCache(store), prefix: "jobs" });
    const plain = limiter(algorithm, { store, prefix: "jobs" });
    const holder = held(hold(plain, "key"));
    assert.equal(cached.peek("key").allowed, false);
    assert.equal(hold(cached, "key").permit, undefined);
    holder.release();
    assert.equal(cached.peek("key").allowed, true);
    held(hold(cached, "key")).release();
  });

  test("lease refuses it in all by name", () => {
    const store = lease(memoryStore(), { units: 2, ttl: 50 });
    const both = all(concurrency({ limit: 9, ttl: 50 }), gcra({ limit: 9, period: 50, burst: 9 }));
    const make = () => limiter(both, { store, prefix: "jobs" });
    assert.throws(make, { name: "RangeError", message: /concurrency/ });
  });

  test("a permit that the other store gave is renewed and released there", async () => {
    const clock = testClock();
    let isAway = true;
    const other = memoryStore();
    const first = interceptedStore(memoryStore(), (_calls, proceed) => {
      if (isAway) throw new StoreUnavailableError("away", "no");
      return proceed();
    });
    const store = fallback(first, other, { share: 0.5 });
    const jobs = limiter(concurrency({ limit: 4, ttl: TTL }), { clock, store, prefix: "jobs" });
    const lent = held(hold(jobs, "key", { cost: 2 }));
    assert.equal(hold(jobs, "key").decision.source, "fallback");
    isAway = false;
    const own = held(hold(jobs, "key"));
    await clock.advance(3 * TTL);
    assert.deepEqual([lent.signal.aborted, own.signal.aborted], [false, false]);
    assert.equal(own.release(), true);
    assert.equal(lent.release(), true);
    assert.equal(jobs.peek("key", 0).remaining, 4);
    isAway = true;
    assert.equal(jobs.peek("key", 0).remaining, 2);
  });
});

test("a block refuses new permits, and leaves those that are held", async () => {
  const clock = testClock();
  const jobs = limiter(blockable(concurrency({ limit: 2, ttl: TTL })), { clock });
  const permit = held(hold(jobs, "key"));
  block(jobs, "key", 2 * TTL);
  assert.equal(hold(jobs, "key").decision.retryAfter, 2 * TTL);
  await clock.advance(TTL);
  assert.equal(permit.signal.aborted, false);
  assert.equal(permit.release(), true);
  await clock.advance(TTL);
  held(hold(jobs, "key", { cost: 2 })).release();
  assert.throws(() => (jobs as never as Limiter).consume("key"), /call hold/);
});
