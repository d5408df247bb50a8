import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { consumeAll, type StoreUnavailableError } from "../../../mod.ts";
import { storedKeyOf, withFake } from "../../support/fake_redis/with_fake.ts";

/** So many keys go in four parts. */
const KEYS = Array.from({ length: 100 }, (_, place) => `key ${place}`);
/** By what the calls of a part are recognised. */
const FIRST = storedKeyOf(KEYS[0]!);
const LAST = storedKeyOf(KEYS.at(-1)!);

describe("a batch of many keys, by cas", () => {
  test("goes in parts, each key in one of them, in one round trip", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter, store }) => {
      await limiter.peek("warm up");
      const { roundTrips, batches } = store.statistics();
      const before = fake.commands.length;
      const calls = [...KEYS, ...KEYS].map((key) => limiter.consume(key));
      const remaining = (await Promise.all(calls)).map((decision) => decision.remaining);
      assert.deepEqual(remaining, [...KEYS.map(() => 9), ...KEYS.map(() => 8)]);
      const after = store.statistics();
      assert.deepEqual([after.roundTrips - roundTrips, after.batches - batches], [1, 1]);
      const parts = fake.commands.slice(before).map(([, , count, ...rest]) =>
        rest.slice(0, Number(count))
      );
      assert.deepEqual(parts.map((keys) => keys.length), [25, 25, 25, 25]);
      assert.deepEqual(parts.flat(), KEYS.map(storedKeyOf));
    }));

  test("goes as a whole if a call needs several keys", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await limiter.peek("warm up");
      const before = fake.commands.length;
      const calls: Promise<unknown>[] = KEYS.map((key) => limiter.consume(key));
      calls.push(consumeAll([{ limiter, key: KEYS[0]! }, { limiter, key: KEYS.at(-1)! }]));
      await Promise.all(calls);
      assert.equal(fake.commands.length - before, 1);
      assert.equal((await limiter.peek(KEYS.at(-1)!, 0)).remaining, 8);
    }));

  test("answers the calls of a part while another is under way", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await limiter.peek("warm up");
      fake.faults = (command) => command.includes(LAST) ? 50 : undefined;
      const order: string[] = [];
      await Promise.all(KEYS.map(async (key) => {
        await limiter.consume(key);
        order.push(key);
        // What comes now waits for the next batch.
        if (key === KEYS[0]) {
          await limiter.consume(key);
          order.push("again");
        }
      }));
      assert.equal(order[0], KEYS[0]);
      assert.equal(order.at(-1), "again");
    }));

  test("tries only the calls again whose keys were touched", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter, store }) => {
      await Promise.all(KEYS.map((key) => limiter.consume(key)));
      for (const stored of [FIRST, LAST]) fake.keyspace.delete(stored);
      const before = fake.commands.length;
      const decisions = await Promise.all(KEYS.map((key) => limiter.consume(key)));
      assert.equal(store.statistics().conflicts, 2);
      assert.equal(fake.commands.length - before, 5);
      const full = KEYS.filter((_, place) => decisions[place]!.remaining === 9);
      assert.deepEqual(full, [KEYS[0], KEYS.at(-1)]);
    }));

  test("tells of an error in one part, and answers the others", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await limiter.peek("warm up");
      const noRoom = new Error("OOM command not allowed when used memory > 'maxmemory'.");
      fake.faults = (command) => command.includes(LAST) ? noRoom : undefined;
      const results = await Promise.allSettled(KEYS.map((key) => limiter.consume(key)));
      const errors = results.flatMap((result) =>
        result.status === "rejected" ? [result.reason as StoreUnavailableError] : []
      );
      assert.equal(errors.length, 25);
      assert.ok(errors.every(({ applied }) => applied === "no"));
    }));

  test("says of a part that went down with its connection that nobody knows", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await limiter.peek("warm up");
      let dropped = false;
      fake.faults = (command) => {
        if (dropped || !command.includes(LAST)) return undefined;
        dropped = true;
        return "drop";
      };
      const results = await Promise.allSettled(KEYS.map((key) => limiter.consume(key)));
      const errors = results.slice(75).map((result) =>
        result.status === "rejected" ? result.reason as StoreUnavailableError : undefined
      );
      assert.ok(errors.every((error) => error?.applied === "unknown"));
      // Nobody is charged twice, and those that were told of an admission are charged.
      fake.faults = () => undefined;
      for (const [place, key] of KEYS.entries()) {
        const { remaining } = await limiter.peek(key, 0);
        assert.equal(remaining, place >= 75 ? 10 : 9);
      }
    }));
});
