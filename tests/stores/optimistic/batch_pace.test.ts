import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { batchPace } from "../../../stores/optimistic/batch_pace.ts";

/** The number in use after so many batches, during each of which the process is busy for a share. */
function keysAfter(shares: readonly number[], batches: number): number[] {
  let now = 0;
  let used = 0;
  const pace = batchPace(() => now, () => used);
  return shares.map((share) => {
    for (let batch = 0; batch < batches; batch++) {
      now += 0.5;
      used += 0.5 * share;
      pace.returned();
    }
    return pace.leastKeys();
  });
}

describe("batches beside others", () => {
  test("are small while the process is busy, and large while it waits", () => {
    assert.deepEqual(keysAfter([0.2, 0.5, 0.7, 0.3, 0.4], 64), [40, 20, 20, 40, 20]);
  });

  test("are large before the first measurement, and where nobody knows the processor's time", () => {
    assert.deepEqual(keysAfter([0.9], 63), [40]);
    const pace = batchPace(() => 1, () => 0);
    for (let batch = 0; batch < 128; batch++) pace.returned();
    assert.equal(pace.leastKeys(), 40);
  });
});

test("the runtime says how busy the process is", () => {
  let now = 0;
  const pace = batchPace(() => now);
  const end = performance.now() + 30;
  while (performance.now() < end);
  for (let batch = 0; batch < 64; batch++) {
    now += 0.01;
    pace.returned();
  }
  assert.equal(pace.leastKeys(), 20);
});
