import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { hold as holdVerb } from "../../../core/verbs/hold.ts";
import type { PermitVerb } from "../../../core/verbs/permit_steps.ts";
import { release } from "../../../core/verbs/release.ts";
import { renew } from "../../../core/verbs/renew.ts";
import {
  type Algorithm,
  all,
  concurrency,
  gcra,
  hold,
  limiter,
  memoryStore,
} from "../../../mod.ts";

/** A fresh key under an algorithm: each message steps its state. */
function keyOf(algorithm: Algorithm) {
  let state = algorithm.initial;
  return function send(verb: PermitVerb, now: number, id: number, cost = 1) {
    const { next, answer } = verb.on(algorithm);
    const before = state;
    state = next(before, now, { id, cost });
    return answer(before, state, now, { id, cost });
  };
}

describe("permits of all", () => {
  test("a hold that comes twice is charged once", () => {
    const send = keyOf(
      all(
        concurrency({ limit: 5, ttl: 10 }),
        gcra({ limit: 3, period: "1h", burst: 3 }),
      ) as Algorithm,
    );
    send(holdVerb, 0, 1);
    const again = send(holdVerb, 5, 1);
    assert.equal(again.allowed, true);
    assert.deepEqual(again.parts?.map(({ remaining }) => remaining), [4, 2]);
    assert.equal(send(renew, 14, 1).allowed, true);
  });

  test("a permit that one part has dropped is lost, whichever part it is", () => {
    const short = concurrency({ limit: 1, ttl: 10 });
    const long = concurrency({ limit: 1, ttl: 30 });
    for (const parts of [[short, long], [long, short]]) {
      const send = keyOf(all(...parts) as Algorithm);
      assert.equal(send(holdVerb, 0, 1).allowed, true);
      assert.equal(send(renew, 9, 1).allowed, true);
      assert.equal(send(renew, 19, 1).allowed, false);
    }
  });

  test("a part whose state no call changes admits them by its decision", () => {
    const open = gcra({ limit: 1, period: "1s", burst: 1 });
    const free = {
      ...open,
      id: "free",
      step: (state: number, now: number) => [open.step(open.initial, now, 0)[0], state],
      charge: (state: number, now: number) => [open.step(open.initial, now, 0)[0], state],
      internals: undefined,
    } as unknown as Algorithm;
    const permits = concurrency({ limit: 1, ttl: 10 });
    const send = keyOf(all(permits, free) as Algorithm);
    assert.equal(send(holdVerb, 0, 1).allowed, true);
    assert.equal(send(release, 0, 1).allowed, true);
    const never = keyOf(all(permits, gcra({ limit: 0, period: "1s", burst: 0 })) as Algorithm);
    assert.equal(never(holdVerb, 0, 1).allowed, false);
    assert.equal(never(release, 0, 1).allowed, false);
  });

  test("a key whose permits are all released takes no room in a store", () => {
    const store = memoryStore();
    const algorithm = all(
      concurrency({ limit: 2, ttl: "1m" }),
      concurrency({ limit: 3, ttl: "1m" }),
    );
    const jobs = limiter(algorithm, { store, prefix: "jobs" });
    const { permit } = hold(jobs, "key");
    assert.equal(store.statistics().keys, 1);
    permit!.release();
    assert.equal(store.statistics().keys, 0);
  });
});
