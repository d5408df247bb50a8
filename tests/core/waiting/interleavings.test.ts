import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";
import { scheduledStore, virtualClock } from "../../../adapters/testing/testing.ts";
import {
  acquire,
  type Algorithm,
  all,
  fixedWindow,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
} from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

type Command =
  | { readonly does: "acquire" | "refund"; readonly cost: number }
  | { readonly does: "abort"; readonly call: number };

const LIMIT = 4;

const commands = fc.array(
  fc.oneof(
    fc.record({ does: fc.constant("acquire" as const), cost: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ does: fc.constant("refund" as const), cost: fc.constant(1) }),
    fc.record({ does: fc.constant("abort" as const), call: fc.nat(4) }),
  ),
  { minLength: 2, maxLength: 10 },
);

/** A used-up limit on a store that runs and answers calls as the scheduler says; no time passes. */
function usedUpLimiter(algorithm: Algorithm, scheduler: fc.Scheduler) {
  const memory = memoryStore();
  const clock = virtualClock(1_790_000_000_000);
  const direct = limiter(algorithm, { store: memory, prefix: "api", clock });
  direct.consume("key", LIMIT);
  const store = scheduledStore(memory, scheduler);
  return { direct, api: limiter(algorithm, { store, prefix: "api", clock }) };
}

/** Waits until nothing is left to schedule, and callers that leave have had their turn. */
async function idle(scheduler: fc.Scheduler): Promise<void> {
  await scheduler.waitIdle();
  await new Promise((resolve) => setTimeout(resolve, 0));
}

test("in every interleaving, a refund wakes the caller that it lets in, and a caller who leaves is not charged", async () => {
  const property = fc.asyncProperty(fc.scheduler(), commands, async (scheduler, commands) => {
    const { direct, api } = usedUpLimiter(
      gcra({ limit: LIMIT, period: "1h", burst: LIMIT }),
      scheduler,
    );
    const calls: { cost: number; controller: AbortController; ended: boolean }[] = [];
    let refunds = 0;
    let used = LIMIT;

    function start(command: Command): void {
      if (command.does === "abort") return calls[command.call]?.controller.abort();
      if (command.does === "refund") {
        // No more than was taken: otherwise the units cannot be counted.
        if (refunds++ < LIMIT) void api.refund("key");
        return;
      }
      const call = { cost: command.cost, controller: new AbortController(), ended: false };
      calls.push(call);
      acquire(api, "key", { cost: call.cost, signal: call.controller.signal })
        .then(() => used += call.cost, () => {})
        .finally(() => call.ended = true);
    }

    for (const command of commands) {
      void scheduler.schedule(Promise.resolve(), command.does).then(() => start(command));
    }
    await idle(scheduler);
    const head = calls.find(({ ended }) => !ended);
    if (head !== undefined) assert.equal(direct.peek("key", head.cost).allowed, false, "sleeps on");
    for (const { controller } of calls) controller.abort();
    await idle(scheduler);
    assert.deepEqual(calls.filter(({ ended }) => !ended), []);
    assert.equal(direct.peek("key", 0).remaining, LIMIT - used + Math.min(refunds, LIMIT));
  });
  await fc.assert(property, fcOptions({ numRuns: 300 }));
});

const queue = leakyQueue({ limit: 1, period: 1_000, queue: 5 });

for (
  const algorithm of [
    queue,
    all(queue, fixedWindow({ limit: 100, period: "1h" })),
    all(fixedWindow({ limit: 100, period: "1d" }), all(queue)),
  ]
) {
  test(`calls of ${algorithm.id} start a second apart, whoever leaves meanwhile`, async () => {
    const step = fc.record({
      does: fc.constantFrom("acquire", "consume", "abort"),
      call: fc.nat(4),
      pass: fc.nat(500),
    });
    const steps = fc.array(step, { minLength: 4, maxLength: 12 });
    const property = fc.asyncProperty(steps, async (steps) => {
      const clock = virtualClock(1_790_000_000_000);
      const api = limiter(algorithm, { clock });
      const controllers: AbortController[] = [];
      const starts: number[] = [];
      for (const { does, call, pass } of steps) {
        if (does === "abort") {
          controllers[call]?.abort();
        } else if (does === "consume") {
          const { allowed, delay } = api.consume("key");
          if (allowed) starts.push(clock() + delay);
        } else {
          const controller = new AbortController();
          controllers.push(controller);
          const { signal } = controller;
          acquire(api, "key", { signal }).then(() => starts.push(clock()), () => {});
        }
        await clock.pass(pass);
      }
      await clock.pass(20_000);
      starts.sort((one, other) => one - other);
      const gaps = starts.slice(1).map((start, index) => start - starts[index]!);
      assert.ok(gaps.every((gap) => gap >= 1_000), `gaps of ${gaps.join(", ")} ms`);
    });
    await fc.assert(property, fcOptions({ numRuns: 100 }));
  });
}
