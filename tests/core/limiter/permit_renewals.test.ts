/*
 * Permits whose renewals are answered late, out of order, by a failure policy or not at all.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  all,
  type AsyncLimiter,
  concurrency,
  hold,
  limiter,
  memoryStore,
  StoreUnavailableError,
} from "../../../mod.ts";
import { DriverError, lockedStore } from "../../../stores/stores.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { testClock } from "../../support/test_clock.ts";

const TTL = 900;
const algorithm = concurrency({ limit: 2, ttl: TTL });

/** A limiter whose renewals, numbered from 0, are passed on or answered by the test. */
function slowRenewals(renewal: (count: number, proceed: () => Promise<unknown>) => unknown) {
  const clock = testClock();
  let count = 0;
  const store = interceptedStore(asyncMemoryStore(), (calls, proceed) => {
    if (calls[0]!.verb.name !== "renew") return proceed();
    return renewal(count++, async () => await proceed());
  });
  const jobs: AsyncLimiter<"permits"> = limiter(algorithm, { clock, store, prefix: "jobs" });
  return { clock, jobs };
}

/** A door that is closed until a test opens it. */
function door() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => open = resolve);
  return { open, opened };
}

/** A limiter on a map that answers by its policy while it is away. */
function policyJobs(onUnavailable: "allow" | "deny") {
  const clock = testClock();
  const texts = new Map<string, string>();
  const server = { isAway: false };
  const store = lockedStore({
    name: "The map",
    transact(keys, body) {
      if (server.isAway) throw new DriverError("away", { applied: "no" });
      const { writes, answer } = body(keys.map((key) => texts.get(key) ?? ""), clock());
      for (const { key, next } of writes) texts.set(key, next);
      return answer;
    },
  }, { onUnavailable });
  return { clock, server, jobs: limiter(algorithm, { clock, store, prefix: "jobs" }) };
}

describe("renewals", () => {
  test("an answer that comes late takes no time from a permit that was renewed since", async () => {
    const late = door();
    const { clock, jobs } = slowRenewals(async (count, proceed) => {
      if (count > 1) throw new StoreUnavailableError("away", "no");
      const answers = await proceed();
      if (count === 0) await late.opened;
      return answers;
    });
    const { permit } = await hold(jobs, "key");
    const { signal } = permit!;
    await clock.advance(2 * TTL / 3);
    late.open();
    await clock.advance(TTL - 1);
    assert.equal(signal.aborted, false);
    await clock.advance(1);
    assert.equal(signal.aborted, true);
  });

  test("a renewal that arrives after the release loses nothing", async () => {
    const late = door();
    const { clock, jobs } = slowRenewals(async (_count, proceed) => {
      await late.opened;
      return await proceed();
    });
    const { permit } = await hold(jobs, "key");
    const { signal } = permit!;
    await clock.advance(TTL / 3);
    assert.equal(await permit!.release(), true);
    late.open();
    await clock.advance(1);
    assert.equal(signal.aborted, false);
  });

  test("a permit that nobody renews is lost to the millisecond, also between two renewals", async () => {
    const clock = testClock();
    let isAway = false;
    const store = interceptedStore(memoryStore(), (_calls, proceed) => {
      if (isAway) throw new StoreUnavailableError("away", "no");
      return proceed();
    });
    const jobs = limiter(concurrency({ limit: 1, ttl: 100 }), { clock, store, prefix: "jobs" });
    const { signal } = hold(jobs, "key").permit!;
    isAway = true;
    await clock.advance(99);
    assert.equal(signal.aborted, false);
    await clock.advance(1);
    assert.equal(signal.aborted, true);
  });

  test("come as often as the shortest time to live of its parts asks", async () => {
    const clock = testClock();
    const both = all(
      concurrency({ limit: 1, ttl: 10 * TTL }),
      concurrency({ limit: 1, ttl: TTL }),
    );
    const jobs = limiter(both, { clock });
    const { permit } = hold(jobs, "key");
    await clock.advance(5 * TTL);
    assert.deepEqual([permit!.signal.aborted, permit!.release()], [false, true]);
  });

  test("a policy's refusal is no loss: the permit is renewed once the store is back", async () => {
    const { clock, server, jobs } = policyJobs("deny");
    const { permit } = hold(jobs, "key");
    server.isAway = true;
    await clock.advance(TTL / 3);
    server.isAway = false;
    await clock.advance(TTL);
    assert.deepEqual([permit!.signal.aborted, permit!.release()], [false, true]);
  });

  test("a release that only a policy answers has released nothing", () => {
    for (const policy of ["allow", "deny"] as const) {
      const { server, jobs } = policyJobs(policy);
      const { permit } = hold(jobs, "key");
      server.isAway = true;
      assert.equal(permit!.release(), false);
      server.isAway = false;
      assert.equal(jobs.peek("key", 0).remaining, 1);
    }
  });
});
