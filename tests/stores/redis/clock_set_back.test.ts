/*
 * The clock of a server that is set back by an hour, as after a failover to a replica with a slow clock.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  type Algorithm,
  all,
  type AsyncLimiter,
  consumeAll,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  limiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../mod.ts";
import { withFake } from "../../support/fake_redis/with_fake.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const RATE = { limit: 60, period: "1m" } as const;
/** Scripts take the time from a real server, whose clock cannot be set: see the last tests. */
const MODES = ["watch", "cas"] as const;
/** By compare and set a clock that differs by more than that is noticed. */
const DEADLINE = 900;

/** A clock that goes on, and can be set. */
function settableClock() {
  const clock = {
    ahead: 0,
    now: () => Math.floor(performance.timeOrigin + performance.now()) + clock.ahead,
  };
  return clock;
}

/** Algorithms of sixty a minute, each with the longest wait for the next unit, in milliseconds. */
const LIMITS: readonly (readonly [Algorithm, most: number])[] = [
  [gcra({ ...RATE, burst: 10 }), 1_000],
  [leakyBucket({ ...RATE, burst: 10 }), 1_000],
  [leakyQueue({ ...RATE, queue: 9 }), 1_000],
  [tokenBucket({ ...RATE, burst: 10 }), 1_000],
  [tokenBucket({ ...RATE, burst: 10, refill: "interval" }), MINUTE],
  [fixedWindow(RATE), MINUTE],
  [fixedWindow({ ...RATE, anchor: "first" }), MINUTE],
  [slidingCounter(RATE), 2 * MINUTE],
  [slidingWindow({ ...RATE, precision: "1s" }), MINUTE + 1_000],
  [slidingLog(RATE), MINUTE],
  [all(gcra({ ...RATE, burst: 10 }), fixedWindow({ limit: 100, period: "1m" })), MINUTE],
];

/** Uses up a key. */
async function fill(api: AsyncLimiter, key: string): Promise<void> {
  for (;;) if (!(await api.consume(key)).allowed) return;
}

for (const commit of MODES) {
  describe(`a clock that is set back by an hour, by ${commit}`, () => {
    test("leaves a debt as it is", async () => {
      const clock = settableClock();
      await withFake({ commit, deadline: DEADLINE }, async ({ store }) => {
        const api = limiter(gcra({ ...RATE, burst: 10 }), { store, prefix: "api" });
        assert.equal((await api.charge("a", 3_610)).debt, 3_600);
        assert.ok((await api.consume("a")).debt > 3_500);
        clock.ahead += HOUR - MINUTE;
        assert.ok((await api.consume("a")).retryAfter > 50_000);
        clock.ahead += MINUTE + 2_000;
        assert.equal((await api.consume("a")).allowed, true);
        await fill(api, "a");
        clock.ahead -= HOUR;
        assert.ok((await api.consume("a")).retryAfter <= 1_000);
      }, clock.now);
    });

    test("is seen though a clock went back a little before, as estimates do", async () => {
      const clock = settableClock();
      await withFake({ commit, deadline: DEADLINE }, async ({ store }) => {
        const api = limiter(slidingLog(RATE), { store, prefix: "api" });
        await api.consume("a");
        clock.ahead -= 1_500;
        await fill(api, "a");
        clock.ahead -= HOUR;
        const { retryAfter } = await api.consume("a");
        assert.ok(retryAfter > 0 && retryAfter <= MINUTE, `${retryAfter} ms`);
      }, clock.now);
    });

    test("changes nothing where a clock of the caller decides", async () => {
      let time = 1_800_000_000_000;
      await withFake({ commit }, async ({ store }) => {
        const api = limiter(gcra({ ...RATE, burst: 10 }), {
          store,
          prefix: "api",
          clock: () => time,
        });
        await fill(api, "a");
        time -= HOUR;
        assert.ok((await api.consume("a")).retryAfter > HOUR - MINUTE);
      });
    });
  });
}

withRedis("a value that is an hour ahead on a real server", (_redis, { storeOf, clientOf }) => {
  for (const commit of [...MODES, "script"] as const) {
    test(`is taken for one at its bound, unless it is in debt, by ${commit}`, async () => {
      const store = storeOf({ commit });
      const client = await clientOf();
      for (const [algorithm, most] of LIMITS) {
        const api = limiter(algorithm, { store, prefix: commit });
        const ahead = Date.now() + HOUR;
        let state = algorithm.initial;
        for (let left = algorithm.capacity; left > 0; left--) {
          state = algorithm.step(state, ahead, 1)[1];
        }
        const name = `${commit}:{a}:${algorithm.id}`;
        const pair = `${commit}:{b}:${algorithm.id}`;
        for (const key of [name, pair]) await client.set(key, algorithm.codec.encode(state));
        const { retryAfter } = await api.consume("a");
        assert.ok(retryAfter > 0 && retryAfter <= most, `${algorithm.id}: ${retryAfter} ms`);
        const both = ["b", "c"].map((key) => ({ limiter: api, key }));
        const [part] = (await consumeAll(both)).parts!;
        assert.ok(part!.retryAfter > 0 && part!.retryAfter <= most, `${part!.retryAfter} ms`);
        // The refusal was written: the next unit comes when it said.
        const written = algorithm.codec.decode(await client.get(name) ?? "");
        assert.ok(written !== undefined, algorithm.id);
        const then = Date.now() + retryAfter;
        assert.equal(algorithm.step(written, then, 1)[0].allowed, true, algorithm.id);
        const ttl = await client.pTTL(name);
        assert.ok(ttl > 0 && ttl <= 2 * MINUTE + 8_000, `${ttl} ms`);
      }
      const api = limiter(gcra({ ...RATE, burst: 10 }), { store, prefix: commit });
      assert.equal((await api.charge("debt", 3_610)).debt, 3_600);
      assert.equal((await api.consume("debt")).allowed, false);
      assert.ok((await api.peek("debt")).debt > 3_500);
      await api.charge("debt", 10);
      assert.ok((await api.peek("debt")).debt > 3_500);
    });
  }
});
