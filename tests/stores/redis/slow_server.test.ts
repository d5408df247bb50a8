/*
 * A server that is far away, or that stands still: it is slow and not down, and no call takes longer
 * than its `timeout`.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { StoreUnavailableError } from "../../../mod.ts";
import type { Outage, RedisStoreOptions } from "../../../stores/redis/redis_store.ts";
import type { FakeRedis } from "../../support/fake_redis/fake_redis.ts";
import { storedKeyOf, withFake } from "../../support/fake_redis/with_fake.ts";
import { until } from "../../support/redis/redis_cluster.ts";

/** Milliseconds that a distant server takes. */
const FAR = 20;

/** How many script calls on keys have come. */
function scriptCalls({ commands }: FakeRedis): number {
  return commands.filter(([name, , keys]) => name === "EVALSHA" && keys !== "0").length;
}

describe("a distant server", () => {
  for (const commit of ["script", "cas"] as const) {
    test(`gets the next batch before it has answered the last one, by ${commit}`, () =>
      withFake({ commit }, async ({ fake, limiter }) => {
        fake.faults = () => FAR;
        await limiter.consume("warm up");
        let answer = () => {};
        const answered = new Promise<void>((resolve) => answer = resolve);
        fake.faults = () => answered;
        const before = scriptCalls(fake);
        const calls: Promise<unknown>[] = [];
        for (let sent = 1; sent <= 3; sent++) {
          calls.push(limiter.consume(`key ${sent}`));
          await until(() => Promise.resolve(scriptCalls(fake) === before + sent));
        }
        fake.faults = () => undefined;
        answer();
        await Promise.all(calls);
      }));
  }

  test("is not down, however slow its first replies are", async () => {
    const outages: Outage[] = [];
    const options: RedisStoreOptions = {
      deadline: undefined,
      onOutage: (outage) => void outages.push(outage),
    };
    await withFake(options, async ({ fake, limiter }) => {
      // More than the default deadline.
      fake.faults = () => 300;
      for (let calls = 0; calls < 3; calls++) await limiter.consume("a");
      assert.deepEqual(outages, []);
    });
  });

  test("that is slower than any call may take has one outage, which late replies do not end", async () => {
    const states: Outage["state"][] = [];
    const options: RedisStoreOptions = {
      deadline: 150,
      timeout: 60,
      onOutage: ({ state }) => void states.push(state),
    };
    await withFake(options, async ({ fake, limiter, store }) => {
      await until(() => Promise.resolve(limiter.consume("a")).then(() => true, () => false));
      states.length = 0;
      fake.faults = () => 200;
      const before = store.statistics().roundTrips;
      await until(async () => {
        await limiter.consume("a").catch(() => {});
        return store.statistics().roundTrips > before + 4;
      });
      assert.deepEqual([...new Set(states)], ["began"]);
    });
  });
});

describe("a server that stands still", () => {
  /** Has the first transaction lose its race, and the server stand still from then on. */
  function stallAfterRace(fake: FakeRedis): void {
    fake.faults = ([name]) => {
      if (name !== "MULTI") return undefined;
      fake.keyspace.set(storedKeyOf("a"), fake.keyspace.get(storedKeyOf("a"))!);
      fake.faults = ([name]) => name === "WATCH" ? "silence" : undefined;
      return undefined;
    };
  }
  const options = { commit: "watch", timeout: 300 } as const;

  test("holds a call that has lost a race no longer than any other", () =>
    withFake(options, async ({ fake, limiter, store }) => {
      await limiter.consume("a");
      stallAfterRace(fake);
      await assert.rejects(async () => await limiter.consume("a"), StoreUnavailableError);
      assert.deepEqual([store.statistics().conflicts, store.statistics().contended], [1, 0]);
    }));

  test("is an outage to a call that has lost a race, and the policy answers it", () =>
    withFake({ ...options, onUnavailable: "deny" }, async ({ fake, limiter }) => {
      await limiter.consume("a");
      stallAfterRace(fake);
      const calls = [limiter.consume("a"), limiter.consume("b")];
      const sources = (await Promise.all(calls)).map(({ source }) => source);
      assert.deepEqual(sources, ["policy", "policy"]);
    }));
});
