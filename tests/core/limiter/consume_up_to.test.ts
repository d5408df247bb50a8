import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { sameDecision } from "../../../adapters/testing/laws/same_decision.ts";
import { checkVisits, sameState } from "../../../adapters/testing/laws/visits.ts";
import { algorithms, schedules } from "../../../adapters/testing/testing.ts";
import { scaleAlgorithm } from "../../../core/algorithms/scale_algorithm.ts";
import { takeUpTo } from "../../../core/verbs/take_up_to.ts";
import {
  type Algorithm,
  all,
  blockable,
  concurrency,
  consumeUpTo,
  fixedWindow,
  gcra,
  limiter,
  memoryStore,
  reservable,
} from "../../../mod.ts";
import { lease } from "../../../stores/layered/layered.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { policyStore } from "../../support/policy_store.ts";
import { fcOptions } from "../../support/seed.ts";

const rate = gcra({ limit: 10, period: "10s", burst: 10 });

const FORMS: Readonly<Record<string, (algorithm: Algorithm) => Algorithm>> = {
  "an algorithm": (algorithm) => algorithm,
  "a blockable one": (algorithm) => blockable(algorithm) as Algorithm,
  "a reservable one": (algorithm) => reservable(algorithm) as Algorithm,
  "an all": (algorithm) => all(fixedWindow({ limit: 25, period: "1m" }), algorithm) as Algorithm,
  "a share": (algorithm) => scaleAlgorithm(algorithm, algorithm.capacity < 2 ? 1 : 0.5),
};

for (const [form, made] of Object.entries(FORMS)) {
  test(`of ${form} it takes the most that a call would be admitted for, and nothing else`, () => {
    const mosts = fc.integer({ min: 0, max: 40 });
    const holds = fc.property(algorithms(), schedules(), mosts, (drawn, schedule, most) => {
      const subject = { ...drawn, algorithm: made(drawn.algorithm) };
      const { next, answer } = takeUpTo.on(subject.algorithm);
      const { step } = subject.algorithm;
      checkVisits(subject, schedule, ({ after, now }, expect) => {
        let free = most;
        while (free > 0 && !step(after, now, free)[0].allowed) free--;
        const [decision, state] = step(after, now, free > 0 ? free : Math.min(most, 1));
        const own = next(after, now, most);
        const { taken, decision: given } = answer(after, own, now, most);
        expect(taken === free, `${free} of ${most} to be taken, not ${taken}`);
        expect(sameDecision(given, decision), `the decision of a call of ${free}`);
        expect(free > 0 ? sameState(subject, own, state) : own === after, "the state after it");
      });
    });
    fc.assert(holds, fcOptions({ numRuns: 60 }));
  });
}

test("a lease gives its block back first, so that no unit of the process is missed", async () => {
  for (const inner of [memoryStore(), asyncMemoryStore()]) {
    const store = lease(inner, { units: 8, ttl: "1h" });
    const api = limiter(rate, { store, prefix: "mail", clock: () => 0 } as never);
    for (let call = 0; call < 4; call++) await api.consume("key");
    assert.equal((await consumeUpTo(api, "key", 9)).taken, 6);
    assert.equal((await consumeUpTo(api, "key", 9)).taken, 0);
    assert.equal((await api.consume("key")).allowed, false);
  }
});

test("onDecision hears of the units that were taken, or of the one that was refused", () => {
  const heard: unknown[] = [];
  const onDecision = ({ allowed }: { allowed: boolean }, key: string, cost: number) =>
    void heard.push([allowed, key, cost]);
  const api = limiter(rate, { clock: () => 0, onDecision });
  for (const most of [7, 7, 7, 0]) consumeUpTo(api, "key", most);
  assert.deepEqual(heard, [[true, "key", 7], [true, "key", 3], [false, "key", 1], [
    true,
    "key",
    0,
  ]]);
});

test("a failure policy that allows a call lets it have all", async () => {
  const api = limiter(rate, { store: policyStore().store, prefix: "mail" });
  const { taken, decision } = await consumeUpTo(api, "key", 7);
  assert.deepEqual([taken, decision.source], [7, "policy"]);
});

test("a wrong call throws, or rejects where the store answers by promises", async () => {
  const api = limiter(rate);
  assert.throws(
    () => consumeUpTo(api, "key", -1),
    /^RangeError: Cannot consumeUpTo as most must be/,
  );
  assert.throws(() => consumeUpTo(api, "key", "7" as never), TypeError);
  assert.throws(() => consumeUpTo(api, "", 7), TypeError);
  const slow = limiter(rate, { store: asyncMemoryStore(), prefix: "mail" });
  await assert.rejects(consumeUpTo(slow, "key", 0.5), RangeError);
  const jobs = limiter(concurrency({ limit: 1, ttl: "1m" }));
  // @ts-expect-error: units of permits are held
  assert.throws(() => consumeUpTo(jobs, "key", 1), /^TypeError: Cannot consumeUpTo .*call hold/);
});
