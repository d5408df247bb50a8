import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient } from "redis";

import {
  type Algorithm,
  consumeAll,
  fixedWindow,
  gcra,
  limiter,
  reservable,
  reserve,
  settle,
  slidingWindow,
} from "../../../../mod.ts";
import { COMPARE_AND_SET_SHA } from "../../../../stores/redis/commit/compare_and_set.ts";
import { redisStore } from "../../../../stores/redis/redis_store.ts";
import { STATE_TRANSITIONS_SHA } from "../../../../stores/redis/script/state_transitions.ts";
import { storedKeyOf, withFake } from "../../../support/fake_redis/with_fake.ts";
import { storedKey } from "../../../../core/stored_key.ts";
import { newClient } from "../../../support/redis/new_client.ts";

const MODES = ["watch", "cas"] as const;

/** Words of the commands that came after a place in the log. */
function names(commands: readonly (readonly string[])[], from: number): string[] {
  return commands.slice(from).map(([name]) => name!);
}

describe("a batch", () => {
  test("by watch is two round trips, however many calls and keys are in it", () =>
    withFake({ commit: "watch" }, async ({ fake, limiter, store }) => {
      await limiter.consume("warm up");
      const { roundTrips } = store.statistics();
      const before = fake.commands.length;
      const calls = Array.from({ length: 60 }, (_, index) => limiter.consume(`key ${index % 6}`));
      const decisions = await Promise.all(calls);
      assert.ok(decisions.every(({ allowed }) => allowed));
      assert.equal(store.statistics().roundTrips - roundTrips, 2);
      const expected = ["WATCH", "MGET", "TIME", "MULTI", ...Array(6).fill("SET"), "EXEC"];
      assert.deepEqual(names(fake.commands, before), expected);
    }));

  for (const commit of ["cas", "script"] as const) {
    test(`by ${commit} is one round trip if nobody else writes`, () =>
      withFake({ commit }, async ({ fake, limiter, store }) => {
        await limiter.consume("warm up");
        const { roundTrips } = store.statistics();
        for (let round = 0; round < 3; round++) {
          const calls = Array.from(
            { length: 18 },
            (_, index) => limiter.consume(`key ${index % 6}`),
          );
          await Promise.all(calls);
        }
        assert.equal(store.statistics().roundTrips - roundTrips, 3);
        assert.equal(store.statistics().conflicts, 0);
        assert.deepEqual(names(fake.commands, 2), Array(4).fill("EVALSHA"));
      }));
  }

  test("by watch begins when the one before it has ended, however many calls wait", () =>
    withFake({ commit: "watch" }, async ({ fake, limiter }) => {
      await limiter.peek("warm up");
      const before = fake.commands.length;
      const calls = Array.from({ length: 300 }, (_, index) => limiter.consume(`key ${index}`));
      await Promise.all(calls);
      const steps = names(fake.commands, before).filter((name) =>
        name === "WATCH" || name === "EXEC"
      );
      assert.deepEqual(steps, ["WATCH", "EXEC", "WATCH", "EXEC", "WATCH", "EXEC"]);
    }));

  test("that changes nothing is one round trip, and writes nothing", () =>
    withFake({ commit: "watch" }, async ({ fake, limiter, store }) => {
      await limiter.consume("a", 10);
      const before = fake.commands.length;
      const { roundTrips } = store.statistics();
      const calls = [limiter.consume("a"), limiter.peek("b"), limiter.consume("b", 11)];
      assert.deepEqual((await Promise.all(calls)).map(({ allowed }) => allowed), [
        false,
        true,
        false,
      ]);
      assert.equal(store.statistics().roundTrips - roundTrips, 1);
      assert.deepEqual(names(fake.commands, before), ["WATCH", "MGET", "TIME"]);
    }));

  test("takes in calls on its keys that come while it is loaded", () =>
    withFake({ commit: "watch" }, async ({ fake, limiter, store }) => {
      await limiter.peek("a");
      const late: Promise<unknown>[] = [];
      fake.faults = ([name]) => {
        if (name === "TIME" && late.length === 0) {
          for (let calls = 0; calls < 5; calls++) late.push(limiter.consume("a"));
        }
        return undefined;
      };
      const { batches } = store.statistics();
      await limiter.consume("a");
      await Promise.all(late);
      assert.equal(store.statistics().batches - batches, 1);
      assert.equal((await limiter.peek("a", 0)).remaining, 4);
    }));

  for (const commit of MODES) {
    test(`by ${commit} decides calls in the order in which they came, resets included`, () =>
      withFake({ commit }, async ({ limiter }) => {
        const answers = await Promise.all([
          limiter.consume("a", 7),
          limiter.consume("a", 4),
          limiter.refund("a", 2),
          limiter.consume("a", 4),
          limiter.reset("a"),
          limiter.consume("a", 10),
        ]);
        const verdicts = answers.map((answer) => answer?.allowed);
        assert.deepEqual(verdicts, [true, false, true, true, undefined, true]);
      }));

    test(`by ${commit} deletes a key without use, and lets others outlive it by seconds`, () =>
      withFake({ commit }, async ({ fake, limiter }) => {
        const { resetAfter } = await limiter.consume("a", 2);
        const left = fake.keyspace.timeToLive(storedKeyOf("a")) - resetAfter;
        assert.ok(left > 5_000 && left <= 8_000, `${left} ms`);
        await limiter.refund("a", 2);
        assert.deepEqual(fake.keyspace.keys(), []);
      }));

    test(`by ${commit} sets an expiry anew only where it has become too near or too far`, () => {
      let now = 1_800_000_000_000;
      return withFake({ commit }, async ({ fake, store }) => {
        const api = limiter(gcra({ limit: 1, period: 900, burst: 100 }), { store, prefix: "api" });
        const key = storedKey("api", api.algorithm.id, "a");

        /** Uses units, and returns whether the expiry was set again. */
        async function sets(units: number): Promise<boolean> {
          await api.peek("a"); // so that an estimate of the server's time learns of a jump
          const end = now + fake.keyspace.timeToLive(key);
          const { resetAfter } =
            await (units > 0 ? api.consume("a", units) : api.refund("a", -units));
          const left = fake.keyspace.timeToLive(key) - resetAfter;
          assert.ok(left > 4_900 && left <= 8_000, `${left} ms beyond its use`);
          return now + fake.keyspace.timeToLive(key) !== end;
        }
        assert.equal(await sets(1), true);
        now += 500;
        assert.equal(await sets(1), false);
        assert.equal(await sets(1), false);
        assert.equal(await sets(2), true, "it would have been too near");
        assert.equal(await sets(-3), true, "it would have been too far");
        now += 10_000;
        assert.equal(await sets(1), true, "there was none any more");
      }, () => now);
    });

    test(`by ${commit} keeps a value while it holds use, though others change it and change it back`, () =>
      withFake({ commit }, async ({ fake, store }) => {
        const algorithm = gcra({ limit: 1, period: 2_999, burst: 100 });
        const options = { commit, deadline: 10_000, timeout: 30_000 };
        const others = [1, 2, 3].map(() => redisStore(newClient(fake.url), options));
        const all = [store, ...others].map((store) => limiter(algorithm, { store, prefix: "api" }));
        const key = storedKey("api", algorithm.id, "a");
        let random = 7;
        let used = (await all[0]!.consume("a", 3), 3);
        for (let step = 0; step < 200; step++) {
          random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
          const one = all[(random >>> 16) % 4]!;
          const takes = used === 1 || (used < 6 && (random >>> 20) % 2 === 0);
          const { resetAfter } = await (takes ? one.consume("a") : one.refund("a"));
          used += takes ? 1 : -1;
          const left = fake.keyspace.timeToLive(key) - resetAfter;
          assert.ok(left > 4_900 && left <= 8_100, `${left} ms beyond its use, at step ${step}`);
        }
        for (const other of others) await other.close();
      }, () => 1_800_000_000_000));

    test(`by ${commit} decides early calls before late ones, however many there are`, () =>
      withFake({ commit }, async ({ store, limiter: other }) => {
        const api = limiter(fixedWindow({ limit: 1_500, period: "1d" }), { store, prefix: "many" });
        await api.peek("hot");
        let late = 0;
        const calls: Promise<unknown>[] = [];
        const add = (count: number, isLate: boolean) => {
          for (let left = count; left > 0; left--) {
            calls.push(
              api.consume("hot").then(({ allowed }) => {
                if (allowed && isLate) late++;
              }),
            );
          }
        };
        add(3_000, false);
        // By now the first of them are under way, in a batch that takes no more.
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        calls.push(consumeAll([{ limiter: api, key: "hot" }, { limiter: other, key: "hot" }]));
        add(500, true);
        await Promise.all(calls);
        assert.equal(late, 0);
      }));

    test(`by ${commit} fails only the calls on a key whose state cannot be encoded`, () =>
      withFake({ commit }, async ({ store, limiter: good, fake }) => {
        const encode = (): string => {
          throw new Error("There are no words for it");
        };
        const plain = gcra({ limit: 10, period: "1m", burst: 10 });
        const bad = { ...plain, id: "bad", codec: { ...plain.codec, encode } };
        const wordless = limiter(bad, { store, prefix: "api" });
        await good.peek("a");
        const [one, two, three] = await Promise.allSettled([
          wordless.consume("b"),
          good.consume("a"),
          consumeAll([{ limiter: wordless, key: "c" }, { limiter: good, key: "c" }]),
        ]);
        assert.match(String(one.status === "rejected" && one.reason), /There are no words/);
        assert.equal(two.status === "fulfilled" && two.value.remaining, 9);
        assert.match(String(three.status === "rejected" && three.reason), /There are no words/);
        assert.deepEqual(fake.keyspace.keys(), [storedKeyOf("a")]);
        assert.equal((await good.consume("c")).remaining, 9);
      }));

    test(`by ${commit} keeps units that never come back for a bounded time, and refuses nonsense`, () =>
      withFake({ commit }, async ({ store, limiter: good, fake }) => {
        const plain = gcra({ limit: 10, period: "1m", burst: 10 });
        const resetting = (resetAfter: number, id: string) => {
          const { take, decide, charge } = plain.internals!.halves!;
          const halves = {
            take,
            charge,
            decide: (...given: Parameters<typeof decide>) => ({ ...decide(...given), resetAfter }),
          };
          return limiter({ ...plain, id, internals: { halves } }, { store, prefix: "api" });
        };
        const calls = [resetting(Infinity, "quota").consume("a"), good.consume("a")];
        const decisions = await Promise.all(calls);
        assert.deepEqual(decisions.map(({ allowed }) => allowed), [true, true]);
        assert.ok(fake.keyspace.timeToLive("api:{a}:quota") > 2 ** 42);
        await assert.rejects(resetting(Number.NaN, "nonsense").consume("a"), /NaN/);
        assert.equal((await good.consume("a")).remaining, 8);
      }));

    test(`by ${commit} tries again only the calls that lost the race`, () =>
      withFake({ commit }, async ({ fake, limiter, store }) => {
        await Promise.all(["a", "b", "c"].map((key) => limiter.consume(key)));
        let left = 1;
        const name = commit === "watch" ? "EXEC" : "EVALSHA";
        fake.faults = ([word]) => {
          if (word === name && left-- > 0) fake.keyspace.set(storedKeyOf("b"), "t1 1799999999999");
          return undefined;
        };
        await Promise.all(["a", "b", "c"].map((key) => limiter.consume(key)));
        // A transaction stands and falls as a whole; compare and set has a verdict for each key.
        assert.equal(store.statistics().conflicts, commit === "watch" ? 3 : 1);
      }));
  }
});

test("a charge goes by the script, several at once by compare and set, and none is refused", () =>
  withFake({ commit: "script" }, async ({ fake, limiter: one, store }) => {
    await one.peek("warm up");
    const before = fake.commands.length;
    assert.equal((await one.charge("a", 12)).debt, 2);
    const { debt } = await one.charge("a", 2 ** 40);
    assert.equal((await one.charge("a", 1)).debt, debt);
    const two = limiter(gcra({ limit: 1, period: "1d", burst: 1 }), { store, prefix: "two" });
    const entries = [one, two].map((limiter) => ({ limiter, key: "a", charge: true }));
    assert.equal((await consumeAll(entries)).allowed, true);
    assert.equal((await two.peek("a", 0)).remaining, 0);
    const scripts = fake.commands.slice(before).map(([, sha]) => sha);
    assert.deepEqual(scripts.slice(0, 4), [
      STATE_TRANSITIONS_SHA,
      STATE_TRANSITIONS_SHA,
      STATE_TRANSITIONS_SHA,
      COMPARE_AND_SET_SHA,
    ]);
  }));

describe("calls that are committed otherwise", () => {
  const window = slidingWindow({ limit: 100, period: "1h", precision: "1m" });

  test("share batches: two algorithms in turns need no more than one alone", () =>
    withFake({ commit: "script" }, async ({ fake, store, limiter: one }) => {
      const other = limiter(window, { store, prefix: "other" });
      const changed = limiter(gcra({ limit: 1, period: "1d", burst: 20 }), {
        ...{ store, prefix: "api" },
        replaces: { algorithm: gcra({ limit: 1, period: "1d", burst: 10 }), mode: "keep" },
      });
      const round = () =>
        Promise.all(Array.from({ length: 60 }, (_, index) => {
          const api = [one, other, changed][index % 3]!;
          return api.consume(`key ${index % 6}`);
        }));
      await round();
      const { batches, roundTrips } = store.statistics();
      const before = fake.commands.length;
      for (let rounds = 0; rounds < 3; rounds++) await round();
      assert.equal(store.statistics().batches - batches, 3);
      assert.equal(store.statistics().roundTrips - roundTrips, 3);
      assert.deepEqual(names(fake.commands, before), Array(6).fill("EVALSHA"));
    }));

  test("and share keys are decided in the order in which they came", () =>
    withFake({ commit: "script" }, async ({ store, limiter: one }) => {
      const other = limiter(window, { store, prefix: "other" });
      const both = () => consumeAll([{ limiter: one, key: "a" }, { limiter: other, key: "a" }]);
      const answers = await Promise.all([
        one.consume("a", 8),
        both(),
        one.consume("a", 2),
        both(),
        both(),
        one.consume("a"),
        other.peek("a", 0),
        one.consume("b"),
      ]);
      const verdicts = answers.map(({ allowed }) => allowed);
      assert.deepEqual(verdicts, [true, true, false, true, false, false, true, true]);
      assert.equal((await other.peek("a", 0)).remaining, 98);
      assert.equal((await one.peek("a", 0)).remaining, 0);
    }));

  test("of which one loses a race are answered, and only that one is tried again", () =>
    withFake({ commit: "script" }, async ({ fake, store, limiter: one }) => {
      const other = limiter(window, { store, prefix: "other" });
      await Promise.all([one.consume("a"), other.consume("a")]);
      fake.keyspace.delete(`other:{a}:${window.id}`);
      const calls = [one.consume("a"), other.consume("a"), one.consume("a")];
      const remaining = (await Promise.all(calls)).map((decision) => decision.remaining);
      assert.deepEqual(remaining, [8, 99, 7]);
      assert.equal(store.statistics().conflicts, 1);
    }));

  test("a key that only one process uses is reserved and settled in one round trip each", () =>
    withFake({ commit: "script" }, async ({ fake, store }) => {
      const wide = gcra({ limit: 1, period: "1d", burst: 1_000 });
      const api = limiter(reservable(wide), { store, prefix: "wide" });
      await api.peek("warm up");
      const before = fake.commands.length;
      for (let turn = 0; turn < 50; turn++) {
        const { receipt } = await reserve(api, "a", 2);
        const { returned } = await settle(api, "a", receipt!, 1);
        assert.equal(returned, 1);
      }
      const scripts = new Set(fake.commands.slice(before).map(([, sha]) => sha));
      assert.deepEqual([...scripts], [COMPARE_AND_SET_SHA]);
      assert.deepEqual([fake.commands.length - before, store.statistics().conflicts], [100, 0]);
    }));
});

describe("a call that joins a batch under way", () => {
  test("is counted among the calls that may wait", () =>
    withFake({ maxPending: 100, deadline: 1_000 }, async ({ fake, limiter }) => {
      await limiter.peek("a");
      fake.faults = ([name]) => name === "MGET" ? "silence" : undefined;
      const first = limiter.consume("a");
      await new Promise((resolve) => setTimeout(resolve, 10));
      const calls = Array.from({ length: 5_000 }, () => limiter.consume("a"));
      const ends = await Promise.allSettled([first, ...calls]);
      const full = ends.filter((end) =>
        end.status === "rejected" && /fewer than 100 calls may wait/.test(end.reason)
      );
      assert.ok(full.length > 3_500, `${full.length} failed at once`);
    }));
});

describe("a store", () => {
  test("refuses a client with a prefix of its own, and options out of range", () => {
    const prefixed = createClient({ keyPrefix: "tenant:" });
    assert.throws(() => redisStore(prefixed), /no keyPrefix .*: current value is "tenant:"/);
    const refused = { deadline: [2 ** 31], connectDeadline: [2 ** 31], connections: [0, 65, 1.5] };
    for (const [option, values] of Object.entries(refused)) {
      for (const value of values) {
        assert.throws(() => redisStore(createClient(), { [option]: value }), RangeError);
      }
    }
  });

  test("rejects a hash tag that is no text", async () => {
    for (const tag of ["", 5, null, undefined, {}]) {
      const store = redisStore(createClient(), { hashTag: () => tag as string });
      const api = limiter(gcra({ limit: 1, period: 1, burst: 1 }), { store, prefix: "api" });
      await assert.rejects(api.consume("a"), /hashTag must be a non-empty string/);
    }
  });

  test("answers nothing to no operations", () =>
    withFake({}, async ({ store }) => assert.deepEqual(await store.run([]), [])));
});

describe("several connections", () => {
  for (const commit of MODES) {
    test(`by ${commit} share the keys: a key is always the same one's`, () =>
      withFake({ commit, connections: 3 }, async ({ limiter, store }) => {
        const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`);
        for (let round = 0; round < 4; round++) {
          const calls = [...keys, ...keys].map((key) => limiter.consume(key));
          assert.ok((await Promise.all(calls)).every(({ allowed }) => allowed));
        }
        const { connections, batches, conflicts } = store.statistics();
        assert.equal(connections, 3);
        // Each had a batch a round, and no two of them the same key.
        assert.equal(batches, 12);
        assert.equal(conflicts, 0);
        assert.equal((await limiter.peek("key 7", 0)).remaining, 2);
      }));

    test(`by ${commit} are not all needed for one key`, () =>
      withFake({ commit, connections: 3 }, async ({ limiter, store }) => {
        await Promise.all(Array.from({ length: 30 }, () => limiter.consume("key")));
        assert.equal(store.statistics().connections, 1);
      }));
  }
});

describe("keys", () => {
  test("are text that a person can read", () =>
    withFake({ commit: "cas" }, async ({ fake, store, limiter: api }) => {
      await api.consume("user:42");
      const daily = fixedWindow({ limit: 5, period: "1d" });
      await limiter(daily, { store, prefix: "a{b}" }).consume("c}d%");
      assert.deepEqual(fake.keyspace.keys(), [
        "api:{user:42}:gcra/1/86400000",
        "a%7Bb%7D:{c%7Dd%25}:fixedWindow/86400000/epoch",
      ]);
    }));

  test("lie where their hash tag says", () =>
    withFake({ hashTag: (key) => key.split("/")[0]! }, async ({ fake, limiter }) => {
      await limiter.consume("tenant/user");
      assert.deepEqual(fake.keyspace.keys(), ["api:{tenant}:{tenant/user}:gcra/1/86400000"]);
    }));
});

for (const commit of MODES) {
  test(`a reducer that throws fails its own call, and breaks no connection, by ${commit}`, () =>
    withFake({ commit }, async ({ store, limiter: api }) => {
      const algorithm: Algorithm<unknown> = gcra({ limit: 10, period: "1d", burst: 10 });
      const own = limiter({
        ...algorithm,
        id: "own",
        internals: undefined,
        step(state, now, cost) {
          if (cost === 7) throw new Error("mine");
          return algorithm.step(state, now, cost);
        },
      }, { store, prefix: "own" });
      await api.consume("a");
      for (let call = 0; call < 4; call++) {
        await assert.rejects(async () => await own.consume("a", 7), /^Error: mine$/);
      }
      assert.equal((await own.consume("a")).allowed, true);
      assert.equal((await api.consume("a")).remaining, 8);
      assert.equal(store.statistics().connections, 1);
    }));
}
