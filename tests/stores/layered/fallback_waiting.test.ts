import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import {
  type Algorithm,
  all,
  type AsyncStore,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
  RateLimitedError,
  StoreUnavailableError,
  type SyncStore,
} from "../../../mod.ts";
import { fallback } from "../../../stores/layered/layered.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

const away = new StoreUnavailableError("Cannot decide", "no");

function breakSync(state: { away: boolean }): SyncStore {
  const inner = memoryStore();
  return {
    ...inner,
    internals: undefined,
    run(...call) {
      if (state.away) throw away;
      return inner.run(...call);
    },
  };
}

function breakAsync(state: { away: boolean }): AsyncStore {
  const inner = asyncMemoryStore();
  return {
    ...inner,
    internals: undefined,
    run: (...call) => state.away ? Promise.reject(away) : inner.run(...call),
  };
}

const kinds = {
  "at once": (state: { away: boolean }, share: number) =>
    fallback(breakSync(state), memoryStore(), { share }),
  "by promises": (state: { away: boolean }, share: number) =>
    fallback(breakAsync(state), memoryStore(), { share }),
};

/** What became of a call, and when. */
type Ended = readonly [outcome: string, at: number];

/** A limiter whose first store is away, and calls on it that tell what became of them, and when. */
function waitingOn(
  open: (typeof kinds)["at once"] | (typeof kinds)["by promises"],
  algorithm: Algorithm,
  share: number,
) {
  const clock = virtualClock(1_000_000);
  const state = { away: true };
  const api = limiter(algorithm, { store: open(state, share) as SyncStore, prefix: "a", clock });
  async function call(options: Parameters<typeof api.acquire>[1]): Promise<Ended> {
    const start = clock();
    try {
      await api.acquire("k", options);
      return ["admitted", clock() - start];
    } catch (error) {
      assert.ok(error instanceof RateLimitedError || options?.signal?.aborted, String(error));
      const wait = error instanceof RateLimitedError ? ` ${error.decision.retryAfter}` : "";
      return [`refused${wait}`, clock() - start];
    }
  }
  return { api, clock, state, call };
}

for (const [kind, open] of Object.entries(kinds)) {
  describe(`waiting for a share of a limit that answers ${kind}`, () => {
    test("refuses who asks for more than the share can ever hold, and serves those behind", async () => {
      const { clock, call } = waitingOn(open, gcra({ limit: 100, period: 60_000 }), 1 / 4);
      const calls = [
        call({ cost: 50 }),
        call({ cost: 50, maxWait: 1_000 }),
        call({ cost: 25 }),
        call({}),
      ];
      await clock.pass(10_000);
      assert.deepEqual(await Promise.all(calls), [
        ["refused Infinity", 0],
        ["refused Infinity", 0],
        ["admitted", 0],
        ["admitted", 2_400],
      ]);
    });

    test("refuses at once who cannot be served in time at the share's pace", async () => {
      const { api, clock, call } = waitingOn(open, gcra({ limit: 100, period: 60_000 }), 1 / 4);
      await api.consume("k", 25);
      const calls = [
        call({ maxWait: 2_399 }),
        call({ maxWait: 2_400 }),
        call({ maxWait: 1_000 }),
        call({}),
      ];
      await clock.pass(10_000);
      assert.deepEqual(await Promise.all(calls), [
        ["refused 2400", 0],
        ["admitted", 2_400],
        ["refused 2400", 0],
        ["admitted", 4_800],
      ]);
    });

    test("goes on by the first store once that is back", async () => {
      const { api, clock, state, call } = waitingOn(
        open,
        gcra({ limit: 100, period: 60_000 }),
        1 / 4,
      );
      await api.consume("k", 25);
      const calls = [call({}), call({ cost: 50 })];
      await clock.pass(1_000);
      state.away = false;
      await clock.pass(10_000);
      assert.deepEqual(await Promise.all(calls), [["admitted", 2_400], ["admitted", 2_400]]);
    });

    for (const nested of [false, true]) {
      const queue = leakyQueue({ limit: 2, period: 2_000, queue: 7 });
      const rate = gcra({ limit: 100, period: 60_000 });
      const algorithm = nested ? all(rate, queue) : queue;

      test(`waits out the delay of ${algorithm.id}, and gives back the newest place`, async () => {
        const { api, clock, call } = waitingOn(open, algorithm, 1 / 2);
        const leaver = new AbortController();
        const calls = [
          call({}),
          call({}),
          call({ maxWait: 3_999 }),
          call({ signal: leaver.signal }),
        ];
        await clock.pass(100);
        assert.equal((await api.peek("k", 0)).remaining, 1);
        leaver.abort();
        await clock.pass(0);
        assert.equal((await api.peek("k", 0)).remaining, 2);
        await clock.pass(10_000);
        assert.deepEqual(await Promise.all(calls), [
          ["admitted", 0],
          ["admitted", 2_000],
          ["refused 4000", 0],
          ["refused", 100],
        ]);
      });
    }
  });
}
