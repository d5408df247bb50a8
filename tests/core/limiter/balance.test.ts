import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { checkVisits } from "../../../adapters/testing/laws/visits.ts";
import { algorithms, schedules } from "../../../adapters/testing/testing.ts";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { balance as verb } from "../../../core/verbs/balance.ts";
import {
  acquire,
  all,
  balance,
  block,
  blockable,
  calendarWindow,
  concurrency,
  fixedWindow,
  gcra,
  hold,
  limiter,
  memoryStore,
  type RateLimitedError,
  reservable,
  slidingWindow,
  unblock,
} from "../../../mod.ts";
import { fallback } from "../../../stores/layered/layered.ts";
import { policyStore } from "../../support/policy_store.ts";
import { fcOptions } from "../../support/seed.ts";

const NOW = Date.UTC(2026, 10, 28, 12, 30);
const clock = () => NOW;

test("a balance adds up, and its key is fresh at resetAt and not before", () => {
  const holds = fc.property(algorithms(), schedules(), (subject, schedule) => {
    const { algorithm, algorithm: { step, capacity, internals } } = subject;
    const { answer } = verb.on(algorithm);
    checkVisits(subject, schedule, ({ after, now }, expect) => {
      const { used, remaining, resetAt, limit, parts } = answer(after, after, now, undefined)
        .balance!;
      const [look] = step(after, now, 0);
      const isOwing = parts === undefined
        ? look.debt > 0
        : parts.some((one) => one.used > one.limit);
      expect(
        used + remaining === limit || isOwing,
        `${limit} as ${used} used and ${remaining} left`,
      );
      expect(remaining === look.remaining, `${look.remaining} left`);
      expect(parts?.length === internals?.parts?.length, "the balance of each part");
      if (parts !== undefined || capacity === 0) return;
      const [, state] = look.resetAfter > 0 ? [0, after] : step(after, now, 1);
      const untilFresh = (at: number) => step(state, at, 0)[0].resetAfter;
      expect(resetAt > LAST_INSTANT || untilFresh(resetAt) === 0, `a fresh key at ${resetAt}`);
      expect(resetAt - 1 > LAST_INSTANT || untilFresh(resetAt - 1) > 0, "use until then");
    });
  });
  fc.assert(holds, fcOptions({ numRuns: 100 }));
});

test("a window ends when it ends, with use and without", () => {
  const days = fixedWindow({ limit: 100, period: "1d" });
  const month = calendarWindow({ limit: 100, every: "month", zone: "UTC" });
  const slides = slidingWindow({ limit: 100, period: "1m", precision: "1s" });
  const ends = [Date.UTC(2026, 10, 29), Date.UTC(2026, 11, 1), NOW + 60_000];
  for (const [index, algorithm] of [days, month, slides].entries()) {
    const api = limiter(reservable(algorithm), { clock });
    const fresh = balance(api, "key");
    assert.deepEqual(fresh, {
      limit: 100,
      used: 0,
      remaining: 100,
      resetAt: ends[index],
      blockedFor: 0,
      source: undefined,
      parts: undefined,
    });
    api.charge("key", 130);
    assert.deepEqual(balance(api, "key"), { ...fresh, used: 130, remaining: 0 });
  }
});

test("a block hides what is left, and not what was used", async () => {
  const parts = [
    gcra({ limit: 10, period: "10s", burst: 10 }),
    fixedWindow({ limit: 9, period: "1d" }),
  ];
  const api = limiter(blockable(all(...parts)), { clock });
  api.consume("key", 3);
  const before = balance(api, "key");
  assert.deepEqual([before.limit, before.used, before.remaining], [9, 3, 6]);
  block(api, "key", "1h");
  const { blockedFor, remaining, parts: blocked } = balance(api, "key");
  assert.deepEqual([blockedFor, remaining], [3_600_000, 0]);
  assert.deepEqual(blocked!.map(({ used, remaining }) => [used, remaining]), [[3, 0], [3, 6]]);
  block(api, "key", "forever");
  assert.equal(balance(api, "key").blockedFor, Infinity);
  await assert.rejects(acquire(api, "key"), (error: RateLimitedError) => {
    assert.match(error.message, /key must not be blocked forever/);
    return error.decision.retryAfter === Infinity;
  });
  unblock(api, "key");
  assert.deepEqual(balance(api, "key"), before);
});

test("permits that are held are in use", () => {
  const jobs = limiter(concurrency({ limit: 2, ttl: "1m" }), { clock });
  hold(jobs, "key");
  const { limit, used, remaining, resetAt } = balance(jobs, "key");
  assert.deepEqual([limit, used, remaining, resetAt - NOW], [2, 1, 1, 60_000]);
});

test("a fallback answers by the numbers of its share, and a policy cannot answer", async () => {
  const rate = gcra({ limit: 10, period: "10s", burst: 10 });
  const first = memoryStore();
  const store = fallback(first, memoryStore(), { share: 0.5 });
  const api = limiter(rate, { store, prefix: "a", clock });
  first.close();
  const { limit, remaining, source } = balance(api, "key");
  assert.deepEqual([limit, remaining, source], [5, 5, "fallback"]);
  const away = limiter(rate, { store: policyStore().store, prefix: "a" });
  await assert.rejects(balance(away, "key"), { name: "StoreUnavailableError", applied: "no" });
  assert.throws(() => balance(api, ""), TypeError);
});
