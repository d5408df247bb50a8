import assert from "node:assert/strict";

import { gcra, limiter, StoreUnavailableError } from "../../mod.ts";
import { type AdapterTests, type AnyOptions, apiLimiter, statuses } from "./adapter_subject.ts";
import { asyncMemoryStore } from "./async_memory_store.ts";
import { rawRequest } from "./raw_request.ts";
import { interceptedStore } from "./intercepted_store.ts";

/** Requests where something fails. */
export const FAILURES: AdapterTests = {
  "passes on what an option's function throws, at once or later, and goes on": (app) => {
    let fault: "throws" | "rejects" | undefined = "throws";
    const key = (): string | Promise<string> => {
      if (fault === "throws") throw new Error("no key");
      return fault === "rejects" ? Promise.reject(new Error("no key")) : "one";
    };
    return app.serving({ key }, async (port) => {
      assert.deepEqual(await statuses(port, 2), [500, 500]);
      fault = "rejects";
      assert.deepEqual(await statuses(port, 2), [500, 500]);
      fault = undefined;
      assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
    });
  },

  // deno-lint-ignore require-await
  "refuses options that cannot be meant, when it is made": async ({ subject }) => {
    for (const make of subject.makers as ((options: unknown) => unknown)[]) {
      for (const options of [undefined, null, 5]) {
        const message =
          "Cannot create rateLimit as its options must be an object: current value is " +
          String(options);
        assert.throws(() => make(options), { name: "TypeError", message });
      }
      assert.throws(() => make({ limiter: apiLimiter(), cost: -1 }), RangeError);
    }
  },
};

/** Failures that are the same behind every adapter. */
export const GATE_FAILURES: AdapterTests = {
  "answers 503 where the store cannot decide, and reports why; nobody is refused in shadow": async (
    app,
  ) => {
    for (const rejects of [true, false]) {
      const failures: unknown[] = [];
      const onFailure: AnyOptions["onFailure"] = (error) => failures.push(error);
      const unavailable = unavailableLimiter(rejects);
      await app.serving({ limiter: unavailable, onFailure }, async (port) => {
        const answer = await rawRequest(port, { path: "/text" });
        assert.equal(answer.status, 503);
        assert.deepEqual(answer.values("content-type"), ["application/problem+json"]);
        assert.deepEqual(answer.values("cache-control"), ["no-store"]);
        assert.equal(JSON.parse(answer.body).status, 503);
      });
      assert.ok(failures.length === 1 && failures[0] instanceof StoreUnavailableError);
      await app.serving({ limiter: unavailable, onFailure, shadow: true }, async (port) => {
        assert.deepEqual(await statuses(port, 2), [200, 200]);
      });
      assert.equal(failures.length, 3);
    }
  },

  // deno-lint-ignore require-await
  "says what is wrong with each option": async ({ subject }) => {
    const [make] = subject.makers as ((options: unknown) => unknown)[];
    for (const options of BAD_OPTIONS) {
      assert.throws(() => make!({ limiter: apiLimiter(), ...options }), /^(Type|Range)Error/);
    }
    for (const [option, value, rule, action = "create rateLimit"] of WRONG_OPTIONS) {
      const message = `Cannot ${action} as ${option} must be ${rule}: current value is "x"`;
      assert.throws(() => make!({ limiter: apiLimiter(), [option]: value }), { message });
    }
  },
};

/** Wrong options, and the messages of their errors. */
const WRONG_OPTIONS: readonly [option: string, value: unknown, rule: string, action?: string][] = [
  ["refund", "x", '"failed" or "successful" or a function'],
  ["shadow", "x", "a boolean or a function"],
  ["exposeHeaders", "x", "a boolean"],
  [
    "headers",
    ["legacy", "x"],
    'one or more of "draft-11", "draft-7", "draft-6", "legacy", or false',
    "write rate limit headers",
  ],
];

const BAD_OPTIONS: readonly object[] = [
  ...[{ limiter: undefined }, { limiter: {} }, { headers: "draft-8" }, { cost: -1 }, { cost: "1" }],
  { limiter: limiter(gcra({ name: "a\r\nX: y", limit: 1, period: 1, burst: 1 })) },
  ...[{ headers: ["draft-7", "draft-11"] }, { jitter: -1 }, { jitter: Infinity }, { key: "ip" }],
  ...[{ skip: true }, { refund: "all" }, { unit: "bytes" }, { unknownAddress: "share" }],
  ...[{ trustedProxies: ["everyone"] }, { trustedProxies: "10.0.0.1" }, { forwardedHeader: "" }],
  ...[{ ipv6Prefix: 16 }, { address: "127.0.0.1" }],
];

function unavailableLimiter(rejects: boolean) {
  const { algorithm } = apiLimiter();
  const error = new StoreUnavailableError("Cannot decide as the store is away", "no");
  const run = () => {
    if (rejects) return Promise.reject(error);
    throw error;
  };
  return limiter(algorithm, { store: interceptedStore(asyncMemoryStore(), run), prefix: "p" });
}
