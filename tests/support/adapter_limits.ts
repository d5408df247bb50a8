import assert from "node:assert/strict";

import type { Decision } from "../../core/decision.ts";
import { objectSource, requestRules, type RuleFile } from "../../adapters/rules/rules.ts";
import { gcra, leakyQueue, limiter, memoryStore, type Store } from "../../mod.ts";
import { type AdapterTests, type AnyOptions, NOW, statuses } from "./adapter_subject.ts";
import { asyncMemoryStore } from "./async_memory_store.ts";
import { rawRequest } from "./raw_request.ts";

const clock = () => NOW;
const wide = gcra({ name: "address", limit: 10, period: "1m", burst: 5 });
const narrow = gcra({ name: "user", limit: 10, period: "1m", burst: 2 });

/** Two limits, of an address and of a user. */
function twoLimits(store: Store) {
  const byAddress = limiter(wide, { store, prefix: "address", clock });
  const byUser = limiter(narrow, { store, prefix: "user", clock });
  const limits = [
    { limiter: byAddress, key: () => "192.0.2.7" },
    { limiter: byUser, key: () => Promise.resolve("ann") },
  ];
  return { byAddress, byUser, limits };
}

function bothStores(): readonly Store[] {
  return [memoryStore(), asyncMemoryStore()];
}

/** Several limits for a request, and limits that depend on it. */
export const LIMITS: AdapterTests = {
  "charges several limits all or none, and names each in the fields": async (app) => {
    for (const store of bothStores()) {
      const { byAddress, byUser, limits } = twoLimits(store);
      await app.serving({ limits }, async (port) => {
        const first = await rawRequest(port, { path: "/text" });
        assert.equal(first.status, 200);
        assert.deepEqual(first.values("ratelimit-policy"), [
          '"address";q=10;w=60, "user";q=10;w=60',
        ]);
        assert.deepEqual(first.values("ratelimit"), ['"address";r=4;t=6, "user";r=1;t=6']);
        assert.deepEqual(await statuses(port, 3), [200, 429, 429]);
        const refused = await rawRequest(port, { path: "/text" });
        assert.deepEqual(refused.values("ratelimit"), ['"address";r=3;t=6, "user";r=0;t=6']);
        assert.deepEqual(JSON.parse(refused.body)["violated-policies"], ["user"]);
        assert.deepEqual(refused.values("retry-after"), ["6"]);
      });
      // Nothing of the first limit was spent on requests that the second one refused.
      assert.equal((await byAddress.peek("192.0.2.7", 0)).remaining, 3);
      assert.equal((await byUser.peek("ann", 0)).remaining, 0);
    }
  },

  "takes of each limit its own cost, by a function too, and that of all without one": async (
    app,
  ) => {
    const { byAddress, byUser, limits: [address, user] } = twoLimits(memoryStore());
    const limits = [{ ...address!, cost: () => Promise.resolve(3) }, user!];
    await app.serving({ limits, cost: 2 }, async (port) => {
      assert.deepEqual(await statuses(port, 2), [200, 429]);
    });
    assert.equal((await byAddress.peek("192.0.2.7", 0)).remaining, 2);
    assert.equal((await byUser.peek("ann", 0)).remaining, 0);
  },

  "reports one decision for all limits, with each limit's among its parts": async (app) => {
    const store = memoryStore();
    const seen: [Decision, string][] = [];
    const { limits } = twoLimits(store);
    const onDecision = (decision: Decision, _request: unknown, key: string) =>
      void seen.push([decision, key]);
    await app.serving({ limits, onDecision }, (port) => statuses(port, 3).then(() => {}));
    assert.deepEqual(seen.map(([{ allowed }, key]) => [allowed, key]), [
      [true, "192.0.2.7"],
      [true, "192.0.2.7"],
      [false, "ann"],
    ]);
    assert.deepEqual(seen[2]![0].parts?.map(({ allowed }) => allowed), [true, false]);
  },

  "charges two limits once each where both are the same, and only those that hold": (app) => {
    const { byUser } = twoLimits(memoryStore());
    const limits = [
      { limiter: byUser, key: () => "ann" },
      { limiter: () => byUser, key: () => "ann" },
      { limiter: () => "unlimited" as const, key: () => "ann" },
    ];
    return app.serving({ limits }, async (port) => {
      const answer = await rawRequest(port, { path: "/text" });
      assert.deepEqual(answer.values("ratelimit"), ['"user";r=0;t=6']);
      assert.deepEqual(await statuses(port, 1), [429]);
    });
  },

  "waits out the longest delay of several limits, and not in shadow mode": async (app) => {
    for (const shadow of [false, true]) {
      const waits: number[] = [];
      const after = (milliseconds: number, wake: () => void) => {
        waits.push(milliseconds);
        queueMicrotask(wake);
        return () => {};
      };
      const slow = Object.assign(() => NOW, { after });
      const queue = leakyQueue({ name: "queue", limit: 10, period: "1s", queue: 5 });
      const store = memoryStore();
      const limits = [
        { limiter: limiter(queue, { store, prefix: "queue", clock: slow }), key: () => "one" },
        { limiter: limiter(wide, { store, prefix: "wide", clock: slow }), key: () => "one" },
      ];
      await app.serving({ limits, shadow }, async (port) => {
        assert.deepEqual(await statuses(port, 3), [200, 200, 200]);
      });
      assert.deepEqual(waits, shadow ? [] : [100, 200]);
    }
  },

  "limits by the policy that a request has, all of them on one store": async (app) => {
    const plans = [narrow, gcra({ name: "paid", limit: 20, period: "1m", burst: 3 })];
    let plan: (typeof plans)[number] | "unlimited" | undefined = plans[0];
    const store = memoryStore();
    // A new algorithm for each request still keeps the use.
    const policy = () =>
      typeof plan === "object" ? gcra({ ...plan.policies[0]!, name: plan.name }) : plan!;
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => failures.push(error);
    const options = { policy, store, prefix: "plan", clock, key: () => "ann", onFailure };
    await app.serving(options, async (port) => {
      assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      plan = plans[1];
      const paid = await rawRequest(port, { path: "/text" });
      assert.deepEqual(paid.values("ratelimit"), ['"paid";r=2;t=3']);
      assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      plan = plans[0];
      assert.deepEqual(await statuses(port, 1), [429]);
      plan = "unlimited";
      assert.deepEqual(await statuses(port, 2), [200, 200]);
      plan = undefined;
      assert.deepEqual(await statuses(port, 2), [500, 500]);
    });
    const message = 'Cannot limit the rate as policy must return an algorithm or "unlimited": ' +
      "current value is undefined";
    assert.deepEqual(failures.map((error) => (error as Error).message), [message, message]);
  },

  "limits by numbers alone, with a burst too, in a memory of its own or on a store": async (
    app,
  ) => {
    const store = memoryStore();
    for (const kept of [{}, { store, prefix: "web" }]) {
      const counted = { limit: 2, period: "1h", key: () => "ann", clock, ...kept } as const;
      await app.serving(counted, async (port) => {
        const first = await rawRequest(port, { path: "/text" });
        assert.deepEqual(first.values("ratelimit-policy"), ['"2-in-3600s";q=2;w=3600']);
        assert.deepEqual(await statuses(port, 2), [200, 429]);
      });
      await app.serving({ ...counted, limit: 100, burst: 1 }, async (port) => {
        assert.deepEqual(await statuses(port, 2), [200, 429]);
        const refused = await rawRequest(port, { path: "/text" });
        assert.deepEqual(refused.values("retry-after"), ["36"]);
      });
      await app.serving({ limits: [counted] }, async (port) => {
        const left = "store" in kept ? [429] : [200, 200, 429];
        assert.deepEqual(await statuses(port, left.length), left);
      });
    }
  },

  "warns once where a limiter is made for each request": async (app) => {
    const lines: unknown[] = [];
    const { warn } = console;
    console.warn = (...line) => lines.push(line[0]);
    try {
      const options = { limiter: () => limiter(narrow), key: () => "ann" };
      await app.serving(options, async (port) => {
        assert.deepEqual(await statuses(port, 6), Array(6).fill(200));
      });
      const known = limiter(narrow);
      await app.serving({ ...options, limiter: () => known }, async (port) => {
        assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      });
    } finally {
      console.warn = warn;
    }
    const said = lines.filter((line) => /A limiter is made for each request/.test(String(line)));
    assert.equal(said.length, 1);
  },

  "limits by the rules of a file, which change while they are used": async (app) => {
    for (const store of [memoryStore(), asyncMemoryStore()]) {
      const source = objectSource(ruleFile(2));
      const rules = await requestRules(source, { store, clock });
      const options: Partial<AnyOptions> = {
        rules,
        key: undefined,
        address: () => "192.0.2.7",
        descriptors: () => Promise.resolve([{ user: "ann" }]),
      };
      await app.serving(options, async (port) => {
        const first = await rawRequest(port, { path: "/text?q=1" });
        assert.equal(first.status, 200);
        assert.deepEqual(first.values("ratelimit"), ['"text";r=1;t=30, "user";r=9;t=6']);
        assert.deepEqual(await statuses(port, 2), [200, 429]);
        const refused = await rawRequest(port, { path: "/text" });
        assert.deepEqual(JSON.parse(refused.body)["violated-policies"], ["text"]);
        // The route's limit is spent; nothing of the user's was on what that refused.
        const other = await rawRequest(port, { path: "/json" });
        assert.deepEqual(other.values("ratelimit"), ['"user";r=7;t=6']);
        source.set(ruleFile(4));
        assert.ok(await rules.reload());
        assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      });
      await rules.close();
    }
  },

  "gives back what rules have taken, and refuses nobody by rules in the shadow": async (app) => {
    const rules = await requestRules(ruleFile(1), { clock });
    const options: Partial<AnyOptions> = {
      rules,
      key: undefined,
      address: () => "192.0.2.7",
      refund: "failed",
    };
    await app.serving(options, async (port) => {
      assert.deepEqual(await statuses(port, 3, "/left"), [200, 200, 200]);
      assert.deepEqual(await statuses(port, 1, "/bad"), [400]);
      let status = 429;
      for (let tries = 0; tries < 100 && status === 429; tries++) {
        status = (await rawRequest(port, { path: "/bad" })).status;
      }
      assert.equal(status, 400);
    });
    await rules.close();
  },
};

/** Rules for `/text` and for users. */
function ruleFile(limit: number): RuleFile {
  return {
    domain: "web",
    routes: [
      { path: "/text", descriptors: [{ path: "/text", address: "{address}" }] },
      { path: "/bad", descriptors: [{ path: "/bad", address: "{address}" }] },
      { path: "/left", descriptors: [{ tried: "{address}" }] },
    ],
    rules: [
      {
        key: "path",
        value: "/te*",
        rules: [{ key: "address", name: "text", limits: [{ limit, period: "1m", burst: limit }] }],
      },
      {
        key: "path",
        value: "/bad",
        rules: [{ key: "address", name: "bad", limits: [{ limit: 1, period: "1m", burst: 1 }] }],
      },
      { key: "tried", shadow: true, limits: [{ limit: 1, period: "1m", burst: 1 }] },
      { key: "user", name: "user", limits: [{ limit: 10, period: "1m", burst: 10 }] },
    ],
  };
}
