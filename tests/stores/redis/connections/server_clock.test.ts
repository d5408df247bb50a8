import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { gcra, limiter } from "../../../../mod.ts";
import { withFake } from "../../../support/fake_redis/with_fake.ts";
import { serverClock } from "../../../../stores/optimistic/server_clock.ts";
import { fcOptions } from "../../../support/seed.ts";

describe("a clock that has diverged", () => {
  test("is noticed by compare and set, in both directions", async () => {
    let ahead = 0;
    const now = () => performance.timeOrigin + performance.now() + ahead;
    await withFake({ commit: "cas", deadline: 2_000 }, async ({ store }) => {
      const api = limiter(gcra({ limit: 1, period: "20s", burst: 1 }), { store, prefix: "api" });
      assert.equal((await api.consume("a")).allowed, true);
      assert.equal((await api.consume("a")).allowed, false);
      // As after a process, or its machine, was suspended.
      ahead = 30_000;
      assert.equal((await api.consume("a")).allowed, true);
      assert.equal((await api.consume("b")).allowed, true);
      // By less than a state may be ahead of its limit.
      ahead = 26_000;
      const { allowed, retryAfter } = await api.consume("b");
      assert.equal(allowed, false);
      assert.ok(retryAfter > 22_000, `${retryAfter} ms`);
    }, now);
  });
});

describe("the estimate of the server's clock", () => {
  test("is wrong by half of the tightest round trip at most", () => {
    const trip = fc.tuple(
      fc.double({ min: 0, max: 20, noNaN: true }),
      fc.double({ min: 0, max: 20, noNaN: true }),
    );
    const trips = fc.array(trip, { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(trips, fc.integer({ min: 0, max: 2 ** 41 }), (all, ahead) => {
        const clock = serverClock();
        const start = performance.now();
        // All samples are in the past, so that the estimate is read at a known time.
        let sent = start - 1_000;
        let tightest = Infinity;
        for (const [there, back] of all) {
          clock.sample(ahead + sent + there, sent, sent + there + back);
          tightest = Math.min(tightest, (there + back) / 2);
          sent += there + back;
        }
        const before = performance.now() + ahead;
        const estimate = clock.now()!;
        const after = performance.now() + ahead;
        // A bound widens by a thousandth of its age, here of one second; and the estimate is in
        // whole ms.
        const error = tightest + 1 + 1;
        assert.ok(estimate >= before - error && estimate <= after + error);
      }),
      fcOptions(),
    );
  });

  test("does not step back when a tighter sample says that it was early", () => {
    const clock = serverClock();
    const now = performance.now();
    clock.sample(1_000_000, now - 100, now);
    const before = clock.now()!;
    clock.sample(1_000_000 + 20, now, now);
    assert.ok(clock.now()! >= before);
  });

  test("follows a server whose clock was set", () => {
    const clock = serverClock();
    const now = performance.now();
    clock.sample(1_000_000, now, now + 1);
    clock.sample(5_000_000, now + 1, now + 11);
    assert.ok(Math.abs(clock.now()! - 5_000_000) < 100);
    clock.sample(2_000_000, now + 11, now + 12);
    assert.ok(Math.abs(clock.now()! - 2_000_000) < 100);
  });

  test("knows nothing before the first sample", () => {
    assert.equal(serverClock().now(), undefined);
  });
});
