import assert from "node:assert/strict";
import { test } from "node:test";
import process from "node:process";

import { gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import { tell } from "../../support/redis/redis_cluster.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { drawn } from "../../support/seed.ts";

/** How long connections are killed, in ms. */
const CHAOS = Number(process.env["TIDEGATE_CHAOS"] ?? 400);
const KILL_EVERY = 35;

/** Milliseconds that a call may be later than its deadline and than plain timers at that time. */
const SLACK = 300;

const MODES = ["watch", "cas", "script"] as const;

/** So much that nothing is refused, so slow that nothing comes back. */
const endless = gcra({ limit: 1, period: "1d", burst: 10_000_000 });

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** How many keys, and how many callers of each of six stores: with many, batches follow each other. */
const LOADS = { "one key": [1, 4], "60 keys": [60, 80] } as const;

/** The outcomes of the calls on one key. */
interface Outcome {
  readonly key: string;
  admitted: number;
  unknown: number;
}

withRedis("connections killed under load", (redis, { storeOf }) => {
  for (const [load, [keys, callers]] of Object.entries(LOADS)) {
    test(`lose no update on ${load}`, async () => {
      for (const commit of drawn(MODES)) {
        const stores = Array.from(
          { length: 6 },
          () => storeOf({ commit }),
        );
        const prefix = `${commit} ${load}`;
        const outcomes = Array.from(
          { length: keys },
          (_, index): Outcome => ({ key: `key ${index}`, admitted: 0, unknown: 0 }),
        );
        const end = performance.now() + CHAOS;
        const connections = () =>
          stores.reduce((sum, store) => sum + store.statistics().connections, 0);
        const isOver = () => performance.now() >= end && connections() > 2 * stores.length;

        const call = async (store: (typeof stores)[number], first: number): Promise<void> => {
          const api = limiter(endless, { store, prefix });
          for (let place = first; !isOver(); place++) {
            const outcome = outcomes[place % keys]!;
            try {
              if ((await api.consume(outcome.key)).allowed) outcome.admitted++;
            } catch (error) {
              if (error instanceof StoreUnavailableError && error.applied === "unknown") {
                outcome.unknown++;
              }
              await sleep(1);
            }
          }
        };

        const kills = (async () => {
          for (let killed = -1; !isOver(); await sleep(KILL_EVERY)) {
            // On a loaded machine connecting takes longer than that: one must get through between two
            // kills, or nobody ever does.
            if (connections() === killed) continue;
            killed = connections();
            await tell(redis(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
          }
        })();
        await Promise.all(
          stores.flatMap((store) =>
            Array.from({ length: callers }, (_, index) => call(store, index))
          ),
        );
        await kills;
        await Promise.all(stores.map((store) => store.close()));

        const store = storeOf({ commit });
        const api = limiter(endless, { store, prefix });
        for (const { key, admitted, unknown } of outcomes) {
          const used = endless.capacity - (await api.peek(key, 0)).remaining;
          assert.ok(used >= admitted, `${admitted - used} of ${admitted} updates were lost`);
          assert.ok(
            used <= admitted + unknown,
            `${used} charged, ${admitted} admitted, ${unknown} unknown`,
          );
        }
      }
    });
  }
});

withRedis("a server that dies and comes back", (redis, { storeOf }) => {
  test("is used again once it is back", async () => {
    const store = storeOf({ deadline: 200, timeout: 250 });
    const api = limiter(endless, { store, prefix: "api" });
    await firstSuccess(() => api.consume("a"));
    await redis().kill();
    for (let calls = 0; calls < 20; calls++) {
      await assert.rejects(api.consume("a"), StoreUnavailableError);
      await sleep(20);
    }
    await redis().restart();
    await firstSuccess(() => api.consume("a"));
  });
});

withRedis("a server that is held up for 3 seconds", (redis, { storeOf }) => {
  test("keeps no call waiting past its deadline, and is used again by itself", async () => {
    const deadline = 50;
    const stores = MODES.map((commit) =>
      storeOf({ commit, deadline, timeout: 250, connectDeadline: 1_000 })
    );
    const limiters = stores.map((store, index) =>
      limiter(endless, { store, prefix: MODES[index]! })
    );
    for (const api of limiters) await firstSuccess(() => api.consume("a"));
    redis().signal("SIGSTOP");
    let slowest = 0;
    const end = performance.now() + 3_000;
    // The longest time that a timer of this length takes here and now: a busy machine delays both.
    let slowestTimer = 0;
    const timers = (async () => {
      while (performance.now() < end) {
        const start = performance.now();
        await sleep(deadline);
        slowestTimer = Math.max(slowestTimer, performance.now() - start);
      }
    })();
    await Promise.all(limiters.flatMap((api) =>
      Array.from({ length: 8 }, async () => {
        for (let calls = 0; calls < 10 || performance.now() < end; calls++) {
          const start = performance.now();
          await assert.rejects(api.consume("a"), StoreUnavailableError);
          slowest = Math.max(slowest, performance.now() - start);
          await sleep(5);
        }
      })
    ));
    await timers;
    redis().signal("SIGCONT");
    await Promise.all(limiters.map((api) => firstSuccess(() => api.consume("a"))));
    assert.ok(
      slowest < 2 * slowestTimer + SLACK,
      `one took ${slowest} ms, a timer ${slowestTimer}`,
    );
  });
});

/** Calls until one succeeds; the test's timeout is the bound. */
async function firstSuccess(call: () => Promise<unknown>): Promise<void> {
  while (!await call().then(() => true, () => false)) await sleep(2);
}
