import assert from "node:assert/strict";

import { concurrency, gcra, hold, limiter } from "../../mod.ts";
import { type AdapterTests, until } from "./adapter_subject.ts";
import { rawRequest } from "./raw_request.ts";

const key = () => "one";

/** A limiter of one request at a time, whose permits do not expire as long as a test lasts. */
export function oneAtOnce() {
  const jobs = limiter(concurrency({ limit: 1, ttl: "1h" }));
  return { jobs, isFree: () => jobs.peek("one", 0).remaining === 1 };
}

/** Permits among the limits of a request. */
export const PERMITS: AdapterTests = {
  "takes nothing of any limit where another refuses, and releases the permit alone": async (
    app,
  ) => {
    const { jobs, isFree } = oneAtOnce();
    const rate = limiter(gcra({ limit: 2, period: "1h", burst: 2 }), {
      store: jobs.store,
      prefix: "rate",
    });
    const limits = [{ limiter: jobs, key }, { limiter: rate, key }];
    await app.serving({ limits }, async (port) => {
      const held = hold(jobs, "one");
      assert.equal((await rawRequest(port)).status, 429);
      assert.equal(rate.peek("one", 0).remaining, 2);
      held.permit!.release();
      for (let call = 0; call < 2; call++) {
        assert.equal((await rawRequest(port)).status, 200);
        await until(isFree);
      }
      assert.equal((await rawRequest(port)).status, 429);
      assert.deepEqual([isFree(), rate.peek("one", 0).remaining], [true, 0]);
    });
  },

  "holds a permit of a limiter that is chosen for the request, and none at a cost of 0": async (
    app,
  ) => {
    const { jobs, isFree } = oneAtOnce();
    let cost = 1;
    await app.serving({ limiter: () => jobs, key, cost: () => cost }, async (port) => {
      assert.equal((await rawRequest(port)).status, 200);
      await until(isFree);
      const held = hold(jobs, "one");
      assert.equal((await rawRequest(port)).status, 429);
      cost = 0;
      assert.equal((await rawRequest(port)).status, 200);
      held.permit!.release();
      assert.equal(isFree(), true);
    });
  },

  "releases permits in the shadow, where nobody is refused": async (app) => {
    const { jobs, isFree } = oneAtOnce();
    await app.serving({ limiter: jobs, key, shadow: true }, async (port) => {
      assert.equal((await rawRequest(port)).status, 200);
      await until(isFree);
      const held = hold(jobs, "one");
      assert.equal((await rawRequest(port)).status, 200);
      held.permit!.release();
      await until(isFree);
    });
  },
};
