import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";
import { haveLikeParts } from "../../core/carry_over.ts";
import { subjects } from "../../adapters/testing/testing.ts";
import { limiter, memoryStore, type ReplaceMode } from "../../mod.ts";
import { fcOptions } from "../support/seed.ts";

const LAST_INSTANT = 2 ** 42;

test("under replaces, too, retryAfter is the first admitting millisecond", () => {
  const any = fc.oneof(...Object.values(subjects).map((arbitrary) => arbitrary()));
  const pair = fc.tuple(any, any)
    .filter(([{ algorithm: old }, { algorithm }]) =>
      old.id !== algorithm.id && haveLikeParts(old, algorithm)
    );
  const mode = fc.constantFrom<ReplaceMode>("keep", "proportional");
  const share = fc.nat(1_000);
  fc.assert(
    fc.property(pair, mode, share, share, ([{ algorithm: old }, newer], mode, used, taken) => {
      const { algorithm } = newer;
      let now = 1_790_000_123_457;
      const options = { store: memoryStore(), prefix: "api", clock: () => now };
      const before = limiter(old, options);
      const after = limiter(algorithm, { ...options, replaces: { algorithm: old, mode } });
      before.consume("key", Math.ceil(old.capacity * used / 1_000));
      const cost = Math.max(1, Math.ceil(algorithm.capacity * taken / 1_000));
      const { allowed, retryAfter } = after.consume("key", cost);
      if (allowed || now + retryAfter > LAST_INSTANT) return;
      now += retryAfter - 1;
      assert.equal(after.consume("key", cost).allowed, false);
      now += 1;
      assert.equal(after.consume("key", cost).allowed, true);
    }),
    fcOptions({ numRuns: 300 }),
  );
});
