import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  consumeAll,
  type Decision,
  gcra,
  limiter,
  type StoreUnavailableError,
} from "../../../../mod.ts";
import { redisStore } from "../../../../stores/redis/redis_store.ts";
import type { FakeRedis, Fault } from "../../../support/fake_redis/fake_redis.ts";
import { storedKeyOf, withFake } from "../../../support/fake_redis/with_fake.ts";
import { untilServed } from "../../../support/redis/redis_cluster.ts";

/** The most keys of a batch; calls on all of these keys go in four batches. */
const MOST = 128;
const KEYS = Array.from({ length: 4 * MOST }, (_, index) => `key ${index}`);
/** By what the batches of the first and the last of them are recognised. */
const FIRST = storedKeyOf(KEYS[0]!);
const LAST = storedKeyOf(KEYS.at(-1)!);

/** The keys of each script call that came after a place in the log. */
function batches({ commands }: FakeRedis, from: number): readonly (readonly string[])[] {
  return commands.slice(from).map(([, , count, ...rest]) => rest.slice(0, Number(count)));
}

/** Has the first batch come back when all of them are under way. */
function delay(fake: FakeRedis): void {
  fake.faults = (command) => command.includes(FIRST) ? 500 : undefined;
}

/** The errors of the calls that failed. */
function errorsOf(results: readonly PromiseSettledResult<unknown>[]): StoreUnavailableError[] {
  return results.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
}

describe("calls on many keys, by cas", () => {
  test("go in several batches, each decided on the writes of the batches before it", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter, store }) => {
      await limiter.peek("warm up");
      delay(fake);
      const { roundTrips, batches: done } = store.statistics();
      const before = fake.commands.length;
      const keys = KEYS.slice(0, 2 * MOST);
      const calls = [...keys, ...keys].map((key) => limiter.consume(key));
      const remaining = (await Promise.all(calls)).map((decision) => decision.remaining);
      assert.deepEqual(remaining, [...keys.map(() => 9), ...keys.map(() => 8)]);
      const after = store.statistics();
      assert.deepEqual([after.roundTrips - roundTrips, after.batches - done], [4, 4]);
      assert.equal(after.conflicts, 0);
      const sent = batches(fake, before);
      assert.deepEqual(sent.map((keys) => keys.length), [MOST, MOST, MOST, MOST]);
      assert.deepEqual(sent.flat(), [...keys, ...keys].map(storedKeyOf));
    }));

  test("go in one batch where nearly all of them share a key", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      const calls = () => Array.from({ length: 200 }, () => limiter.consume("hot"));
      await Promise.all(calls());
      const before = fake.commands.length;
      await Promise.all(calls());
      assert.equal(fake.commands.length - before, 1);
    }));

  test("may be of one call that needs several of the keys", () =>
    withFake({ commit: "cas" }, async ({ limiter }) => {
      await limiter.peek("warm up");
      const calls: Promise<unknown>[] = KEYS.map((key) => limiter.consume(key));
      calls.push(consumeAll([{ limiter, key: KEYS[0]! }, { limiter, key: KEYS.at(-1)! }]));
      await Promise.all(calls);
      for (const key of [KEYS[0]!, KEYS.at(-1)!]) {
        assert.equal((await limiter.peek(key, 0)).remaining, 8);
      }
    }));

  test("are answered while a later batch is under way", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await limiter.peek("warm up");
      fake.faults = (command) => command.includes(LAST) ? 50 : undefined;
      const order: string[] = [];
      await Promise.all(KEYS.map(async (key) => {
        await limiter.consume(key);
        order.push(key);
      }));
      assert.deepEqual(order, KEYS);
    }));

  test("are tried again where their keys were touched, and only there", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter, store }) => {
      await Promise.all(KEYS.map((key) => limiter.consume(key)));
      for (const stored of [FIRST, LAST]) fake.keyspace.delete(stored);
      delay(fake);
      const before = fake.commands.length;
      const decisions = await Promise.all(KEYS.map((key) => limiter.consume(key)));
      assert.equal(store.statistics().conflicts, 2);
      assert.deepEqual(batches(fake, before).slice(4), [[FIRST, LAST]]);
      const full = KEYS.filter((_, index) => decisions[index]!.remaining === 9);
      assert.deepEqual(full, [KEYS[0], KEYS.at(-1)]);
    }));

  test("are tried again in the order in which they came, if all of them lose", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter, store }) => {
      await limiter.consume(KEYS[0]!, 5);
      fake.keyspace.delete(FIRST);
      delay(fake);
      // Each round of keys is a batch of its own, by the guess that 5 are left.
      const calls: Promise<Decision>[] = [];
      for (let round = 0; round < 4; round++) {
        calls.push(limiter.consume(KEYS[0]!, 3));
        const from = 1 + round * (MOST - 1);
        for (const key of KEYS.slice(from, from + MOST - 1)) calls.push(limiter.consume(key));
      }
      const decisions = await Promise.all(calls);
      const first = [0, 1, 2, 3].map((round) => decisions[round * MOST]!);
      assert.deepEqual(first.map(({ allowed }) => allowed), [true, true, true, false]);
      assert.deepEqual(first.map(({ remaining }) => remaining), [7, 4, 1, 1]);
      assert.equal(store.statistics().conflicts, 4);
    }));

  test("do not overtake calls that lost a race", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await Promise.all(KEYS.map((key) => limiter.consume(key)));
      fake.keyspace.delete(FIRST);
      // The last batch stays away for a while, so that the first has to wait to be tried again.
      fake.faults = (command) => command.includes(LAST) ? 30 : undefined;
      const late: Promise<Decision>[] = [];
      const [early] = await Promise.all(KEYS.map(async (key, index) => {
        const decision = await limiter.consume(key, index === 0 ? 9 : 1);
        if (index === 1) late.push(...KEYS.map((each) => limiter.consume(each, 2)));
        return decision;
      }));
      assert.equal(early!.remaining, 1);
      assert.equal((await Promise.all(late))[0]!.allowed, false);
    }));

  const noRoom = new Error("OOM command not allowed when used memory > 'maxmemory'.");
  const demoted = new Error("READONLY You can't write against a read only replica.");
  const SECOND = storedKeyOf(KEYS[MOST]!);
  /** Faults, and the range of calls that fail because of each. */
  const FAILURES: readonly {
    readonly name: string;
    readonly fault: (command: readonly string[]) => Fault | undefined;
    readonly applied: "no" | "unknown";
    readonly failing: readonly [from: number, to: number];
  }[] = [
    {
      name: "all fail as not applied, where the server takes none of them",
      fault: ([name]) => name === "EVALSHA" ? noRoom : undefined,
      applied: "no",
      failing: [0, KEYS.length],
    },
    {
      name: "fail in one batch by an error, and are answered in the others",
      fault: (command) => command.includes(LAST) ? noRoom : undefined,
      applied: "no",
      failing: [3 * MOST, KEYS.length],
    },
    {
      name: "go by another connection after an error, though a later batch was taken",
      fault: (command) =>
        command.includes(FIRST) ? 80 : command.includes(SECOND) ? demoted : undefined,
      applied: "no",
      failing: [MOST, 2 * MOST],
    },
    {
      name: "all fail as perhaps applied, where the server does not reply",
      fault: (command) => command.includes(FIRST) ? "silence" : undefined,
      applied: "unknown",
      failing: [0, KEYS.length],
    },
    {
      name: "fail as perhaps applied in a batch that went down with its connection",
      fault: (command) => command.includes(LAST) ? "drop" : undefined,
      applied: "unknown",
      failing: [3 * MOST, KEYS.length],
    },
  ];
  for (const { name, fault, applied, failing: [from, to] } of FAILURES) {
    test(
      name,
      () =>
        withFake({ commit: "cas", deadline: 600 }, async ({ fake, limiter, store }) => {
          await limiter.peek("warm up");
          fake.faults = fault;
          const results = await Promise.allSettled(KEYS.map((key) => limiter.consume(key)));
          const fails = (index: number) => index >= from && index < to;
          assert.deepEqual(
            results.map((result) => errorsOf([result])[0]?.applied),
            KEYS.map((_, index) => fails(index) ? applied : undefined),
          );
          assert.equal(store.statistics().unavailable, to - from);
          fake.faults = () => undefined;
          await untilServed(limiter, "warm up");
          // Nobody is charged twice, and admitted calls are charged.
          for (const [index, key] of KEYS.entries()) {
            assert.equal((await limiter.peek(key, 0)).remaining, fails(index) ? 10 : 9);
          }
          assert.equal(store.statistics().connections, 2);
        }),
    );
  }

  for (const fault of ["silence", noRoom] as const) {
    test(`open the breaker once, so that the server is tried again soon, after ${fault}`, () => {
      const options = { commit: "cas", deadline: 200, onUnavailable: "deny" } as const;
      return withFake(options, async ({ fake, limiter }) => {
        await limiter.peek("warm up");
        fake.faults = () => fault;
        const decisions = await Promise.all(KEYS.map((key) => limiter.consume(key)));
        // The wait doubles with each failure in a row: the second silence is the second one.
        for (const { retryAfter } of decisions) assert.ok(retryAfter <= 50, `${retryAfter} ms`);
      });
    });
  }

  test("that lost a race fail by a silent server when the others do", () =>
    withFake({ commit: "cas", deadline: 50 }, async ({ fake, limiter, store }) => {
      await Promise.all(KEYS.map((key) => limiter.consume(key)));
      fake.keyspace.delete(FIRST);
      let silent = false;
      fake.faults = (command) => {
        silent ||= command.includes(LAST);
        return silent ? "silence" : command.includes(FIRST) ? 20 : undefined;
      };
      const results = await Promise.allSettled(KEYS.map((key) => limiter.consume(key)));
      const [first] = errorsOf(results.slice(0, 1));
      assert.equal(first?.applied, "no");
      // Nobody was dialled for its sake.
      assert.equal(store.statistics().connections, 1);
    }));

  test("end in an error, not without end, where the reply does not fit", async () => {
    for (const rest of [["0", "text"], [0, "text", "too many"], [1, "text"]]) {
      const send = (commands: readonly (readonly string[])[]) =>
        Promise.resolve(commands.map(([, , keys]) => ["1", "2", ...keys === "0" ? [] : rest]));
      const store = redisStore({ send }, { commit: "cas", onOutage() {} });
      const api = limiter(gcra({ limit: 1, period: "1d", burst: 10 }), { store, prefix: "api" });
      await assert.rejects(api.consume("a"), /does not fit/);
      await store.close();
    }
  });
});
