import assert from "node:assert/strict";
import { test } from "node:test";

import { headerWriter, limitHandler } from "../../../../adapters/http/http.ts";
import { answerInTime } from "../../../../adapters/http/gate/answer_in_time.ts";
import { gcra, limiter, memoryStore } from "../../../../mod.ts";

const one = () => limiter(gcra({ limit: 1, period: "1m", burst: 1 }));

test("a limiter that limiter(...) did not make is an error that says so, as is one that is chosen", () => {
  const other = { ...one() };
  assert.throws(
    () => limitHandler({ limiter: other as never }),
    /^TypeError: .*limiter must be made by limiter\(\.\.\.\) of this copy of the package/,
  );
  const handle = limitHandler({ limiter: () => other as never, key: () => "a" })(() =>
    new Response()
  );
  assert.throws(
    () => void handle(new Request("http://localhost/"), undefined),
    /^TypeError: .*limiter must return a limiter\(\.\.\.\) or "unlimited"/,
  );
});

test("limits on several stores or clocks are an error that says so", () => {
  const rate = gcra({ limit: 1, period: "1m", burst: 1 });
  const store = memoryStore();
  const timed = limiter(rate, { store, prefix: "a", clock: () => 0 });
  const untimed = limiter(rate, { store, prefix: "b" });
  for (
    const [limiters, what] of [[[one(), one()], "on one store"], [
      [timed, untimed],
      "share one clock",
    ]] as const
  ) {
    assert.throws(
      () => limitHandler({ limits: limiters.map((limiter) => ({ limiter })) }),
      new RegExp(`^TypeError: .*all limiters must .*${what}`),
    );
  }
});

test("on Workers, which know no addresses, a missing key is an error at once", () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", {
    value: { userAgent: "Cloudflare-Workers" },
    configurable: true,
  });
  try {
    assert.throws(() => limitHandler({ limiter: one() }), /TypeError: .*cf-connecting-ip/);
    limitHandler({ limiter: one(), address: () => "192.0.2.7" });
    limitHandler({ limiter: one(), key: () => "a" });
    limitHandler({ limiter: one(), unknownAddress: "refuse" });
  } finally {
    if (own === undefined) Reflect.deleteProperty(globalThis, "navigator");
    else Object.defineProperty(globalThis, "navigator", own);
  }
});

test("a key that never comes is an error in time", async () => {
  const never = new Promise<string>(() => {});
  await assert.rejects(answerInTime("key", never, 5), /^Error: .* as key must answer within 5 ms$/);
  assert.equal(await answerInTime("key", Promise.resolve("a"), 1_000), "a");
  await assert.rejects(
    answerInTime("key", Promise.reject(new Error("own")), 1_000),
    /^Error: own$/,
  );
});

test("a window of less than a second is not published as a second", () => {
  const { policies } = gcra({ name: "a", limit: 5, period: 500, burst: 5 });
  const left = { remaining: 4, nextAfter: 100, resetAfter: 100 };
  assert.deepEqual(headerWriter(policies)([left], 0)[0], ["RateLimit-Policy", '"a";q=5']);
});
