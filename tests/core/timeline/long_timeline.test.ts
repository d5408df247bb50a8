import assert from "node:assert/strict";
import { test } from "node:test";

import type { Timeline } from "../../../core/timeline/timeline.ts";
import { slidingLog, slidingWindow } from "../../../mod.ts";
import { keyOf } from "../../support/key_of.ts";

test("a full window of the most sub-buckets there are is read back from its text", () => {
  const algorithm = slidingWindow({ limit: 65_536, period: 65_536, precision: 1 });
  let state = algorithm.initial;
  for (let now = 0; now < 65_536; now++) state = algorithm.step(state, now, 1)[1];
  const text = algorithm.codec.encode(state);
  const read = algorithm.codec.decode(text);
  assert.notEqual(read, undefined);
  assert.equal(algorithm.codec.encode(read!), text);
  assert.deepEqual(algorithm.step(read!, 65_535, 1)[0], algorithm.step(state, 65_535, 1)[0]);
});

test("a log of very many calls is read back from its text", () => {
  const { codec } = slidingLog({ limit: 1_000_000, period: "1h" });
  const text = `w1 1700000000000 1${" 1".repeat(699_999)}`;
  const read = codec.decode(text);
  assert.notEqual(read, undefined);
  assert.equal((read as Timeline).since(0), 700_000);
});

test("counts stay exact up to the largest limit", () => {
  const call = keyOf(slidingLog({ limit: 2 ** 53 - 1, period: 100 }));
  call(0, 2 ** 52);
  for (let now = 1; now <= 10; now++) call(now);
  call(100);
  const { allowed, remaining } = call(100, 2 ** 53 - 14);
  assert.deepEqual([allowed, remaining], [true, 2]);
});

test("limits up to 2^53 - 1 admit again when the first units have left", () => {
  const most = Number.MAX_SAFE_INTEGER;
  for (const limit of [2 ** 52, most]) {
    for (
      const algorithm of [
        slidingLog({ limit, period: 1_000 }),
        slidingWindow({ limit, period: 1_000, precision: 10 }),
      ]
    ) {
      const call = keyOf(algorithm);
      for (
        const [now, cost, remaining] of [
          [0, limit, 0],
          [1_000, limit - 5, 5],
          [1_500, 5, 0],
          [2_000, limit - 5, 0],
          [3_000, 1, limit - 1],
        ] as const
      ) {
        const decision = call(now, cost);
        assert.deepEqual([decision.allowed, decision.remaining], [true, remaining]);
      }
    }
  }
});
