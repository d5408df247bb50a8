/*
 * One call must not harm others, and a crowd must not harm everybody: error replies, the time limit of
 * a call, and a full queue.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { consumeAll, gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import type { RedisStoreOptions } from "../../../stores/redis/redis_store.ts";
import { type OnFake, withFake } from "../../support/fake_redis/with_fake.ts";
import { until } from "../../support/redis/redis_cluster.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { newClient } from "../../support/redis/new_client.ts";

const MODES = ["watch", "cas", "script"] as const;

const algorithm = gcra({ limit: 1, period: "1d", burst: 100 });

/**
 * Looks until it is answered, because a first call on a slow machine takes longer than a short
 * timeout.
 */
async function warmUp({ limiter }: OnFake): Promise<void> {
  await until(() => limiter.peek("warm up").then(() => true, () => false));
}

withRedis("an error reply", (redis, { storeOf, clientOf }) => {
  for (const commit of MODES) {
    test(`to one limiter leaves its neighbour alone, by ${commit}`, async () => {
      const admin = await clientOf();
      await admin.sendCommand(
        ["ACL", "SETUSER", "narrow", "on", ">secret", "~good:*", "+@all"],
      );
      const url = redis().url.replace("redis://", "redis://narrow:secret@");
      const store = storeOf({ commit }, newClient(url));
      const good = limiter(algorithm, { store, prefix: "good" });
      const bad = limiter(algorithm, { store, prefix: "bad" });
      await good.consume("warm up");
      for (let round = 0; round < 3; round++) {
        const calls = Array.from({ length: 40 }, (_, index) => [
          good.consume(`${commit} ${index}`).then(() => "decided", String),
          bad.consume(`${commit} ${index}`).then(() => "decided", ({ applied }) => applied),
        ]);
        const ends = await Promise.all(calls.flat());
        assert.deepEqual(new Set(ends.filter((_, index) => index % 2 === 0)), new Set(["decided"]));
        assert.deepEqual(new Set(ends.filter((_, index) => index % 2 === 1)), new Set(["no"]));
      }
      assert.equal(store.statistics().connections, 1);
    });
  }

  for (const commit of ["cas", "script"] as const) {
    test(`is not what 9,000 keys at once get, by ${commit}`, async () => {
      const store = storeOf({ commit, deadline: 20_000 });
      const api = limiter(algorithm, { store, prefix: "many" });
      const entries = Array.from(
        { length: 9_000 },
        (_, index) => ({ limiter: api, key: `${commit} ${index}`, cost: 1 }),
      );
      const { parts } = await consumeAll(entries);
      assert.equal(parts?.length, 9_000);
      assert.equal((await api.peek(`${commit} 8999`, 0)).remaining, 99);
    });
  }
});

withRedis("a server that takes no writes", (_redis, { storeOf, clientOf }) => {
  const REFUSALS: readonly [code: string, settings: readonly string[], cure: readonly string[]][] =
    [
      ["OOM", ["maxmemory", "1"], ["maxmemory", "0"]],
      ["NOREPLICAS", ["min-replicas-to-write", "1"], ["min-replicas-to-write", "0"]],
    ];
  for (const commit of MODES) {
    for (const [code, settings, cure] of REFUSALS) {
      test(`still answers those that only look, by ${commit} (${code})`, async () => {
        const admin = await clientOf();
        const store = storeOf({ commit });
        const api = limiter(algorithm, { store, prefix: `${code} ${commit}` });
        await api.consume("a", 40);
        await admin.sendCommand(["CONFIG", "SET", ...settings]);
        for (let round = 0; round < 5; round++) {
          const calls = Array.from({ length: 10 }, (_, index) => [
            assert.rejects(api.consume(`${index % 2}`), {
              name: "StoreUnavailableError",
              applied: "no",
            }),
            api.peek("a", 0).then(({ remaining }) => assert.equal(remaining, 60)),
            api.peek(`${index % 2}`, 0).then(({ remaining }) => assert.equal(remaining, 100)),
          ]);
          await Promise.all(calls.flat());
        }
        await admin.sendCommand(["CONFIG", "SET", ...cure]);
        await until(() => api.consume("a").then(() => true, () => false));
        assert.equal((await api.peek("a", 0)).remaining, 59);
      });
    }
  }
});

describe("the time limit of a call", () => {
  for (const commit of MODES) {
    test(`counts its time in the queue, by ${commit}`, () =>
      withFake({ commit, deadline: 2_000, timeout: 150, maxPending: 20_000 }, async (on) => {
        const { fake, limiter, store } = on;
        await warmUp(on);
        fake.faults = ([name]) => name === "MGET" || name === "EVALSHA" ? 60 : undefined;
        const calls = Array.from({ length: 9_000 }, (_, index) => limiter.consume(`key ${index}`));
        const ends = await Promise.allSettled(calls);
        const late = ends.filter((end) => end.status === "rejected").map(({ reason }) => reason);
        assert.ok(late.length > 0, "none was late");
        for (const error of late) {
          assert.ok(error instanceof StoreUnavailableError, String(error));
          assert.match(error.message, /150 ms/);
        }
        // The server has made no mistake.
        assert.equal(store.statistics().connections, 1);
      }));
  }

  test("counts round trips, and says that the call may have been charged", () =>
    withFake({ commit: "script", deadline: 2_000, timeout: 100 }, async (on) => {
      const { fake, limiter } = on;
      await warmUp(on);
      fake.faults = ([name]) => name === "EVALSHA" ? 3_000 : undefined;
      const error = await limiter.consume("a").catch((error) => error);
      assert.ok(error instanceof StoreUnavailableError, String(error));
      assert.equal(error.applied, "unknown");
    }));

  test("is over for a call that the script charges: those after it are not admitted in its place", () =>
    withFake({ commit: "script", timeout: 2_000 }, async ({ fake, limiter }) => {
      await limiter.peek("warm up");
      const answers: (() => void)[] = [];
      const held = [0, 1].map(() => new Promise<void>((resolve) => answers.push(resolve)));
      let sent = 0;
      fake.faults = ([name]) => name === "EVALSHA" ? held[Math.min(sent++, 1)] : undefined;
      const before = limiter.consume("b");
      await until(() => Promise.resolve(sent === 1));
      const late = limiter.consume("a", 1).catch((error) => error);
      await sleep(900);
      const next = limiter.consume("a", 10);
      answers[0]!();
      assert.equal((await before).allowed, true);
      assert.ok(await late instanceof StoreUnavailableError);
      answers[1]!();
      assert.equal((await next).allowed, false);
      fake.faults = () => undefined;
      assert.equal((await limiter.peek("a", 0)).remaining, 9);
    }));
});

describe("a full queue", () => {
  const OPTIONS: RedisStoreOptions = { onUnavailable: "allow", maxPending: 50 };

  test("is no outage: it refuses by an error of its own", () =>
    withFake(OPTIONS, async ({ limiter, fake }) => {
      await limiter.peek("warm up");
      const before = fake.commands.length;
      const calls = Array.from({ length: 200 }, () => limiter.consume("a"));
      const ends = await Promise.allSettled(calls);
      const errors = ends.filter((end) => end.status === "rejected").map(({ reason }) => reason);
      assert.ok(errors.length >= 100, `${errors.length} errors`);
      for (const { name } of errors) assert.equal(name, "StoreOverloadedError");
      const admitted = ends.filter((end) => end.status === "fulfilled" && end.value.allowed);
      assert.ok(admitted.length <= 10, `${admitted.length} of 10 admitted`);
      assert.ok(fake.commands.length > before);
    }));

  test("denies where the options say so", () =>
    withFake({ ...OPTIONS, onOverload: "deny" }, async ({ limiter }) => {
      await limiter.peek("warm up");
      const calls = Array.from({ length: 200 }, () => limiter.consume("a"));
      const decisions = await Promise.all(calls);
      const denied = decisions.filter(({ source }) => source === "policy");
      assert.ok(denied.length >= 100);
      assert.ok(denied.every(({ allowed, retryAfter }) => !allowed && retryAfter >= 1));
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 10);
    }));
});

test("a call that comes while a connection is made has all of its own time", () =>
  withFake({ commit: "cas", deadline: 1_000 }, async ({ fake, limiter }) => {
    await limiter.consume("a");
    fake.faults = ([name]) => name === "HELLO" ? 1_500 : undefined;
    fake.dropAll();
    await sleep(200);
    const first = limiter.consume("a").then(() => "answered", () => "failed");
    await sleep(900);
    const second = limiter.consume("a").then(() => "answered", () => "failed");
    assert.deepEqual(await Promise.all([first, second]), ["failed", "answered"]);
  }));
