import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { limitHandler, type RateLimitOptions } from "../../../../adapters/http/http.ts";
import { requestRules } from "../../../../adapters/rules/rules.ts";
import { gcra, limiter, memoryStore } from "../../../../mod.ts";

const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }));
const policy = () => gcra({ limit: 1, period: "1m", burst: 1 });
const store = memoryStore();
const key = () => "one";
const rules = await requestRules({ domain: "d", rules: [{ key: "a", unlimited: true }] });

type Options = RateLimitOptions<Request, unknown>;

describe("the ways to give a limit", () => {
  test("exclude each other, by type and when it is made", () => {
    const numbers: Options = { limit: 1, period: "1m", burst: 1, store, prefix: "p", key };
    const others: readonly Options[] = [
      { limiter: api },
      { policy, store, prefix: "q" },
      { limits: [{ limit: 1, period: "1m" }, { limit: 9, period: "1h", key }], maxDelay: "1s" },
      { rules, descriptors: () => [{ a: "b" }] },
    ];
    for (const options of [numbers, ...others]) limitHandler(options);
    const wrong: readonly Options[] = [
      // @ts-expect-error A limit has a period.
      { limit: 1 },
      // @ts-expect-error A period has a limit.
      { period: "1m" },
      // @ts-expect-error A burst belongs to numbers.
      { limiter: api, burst: 1 },
      // @ts-expect-error Numbers or a limiter.
      { limit: 1, period: "1m", limiter: api },
      // @ts-expect-error Numbers or a policy.
      { limit: 1, period: "1m", policy },
      // @ts-expect-error A limiter or a policy.
      { limiter: api, policy },
      // @ts-expect-error A limiter or several limits.
      { limiter: api, limits: [{ limiter: api }] },
      // @ts-expect-error Numbers belong to the entries.
      { limit: 1, period: "1m", limits: [{ limiter: api }] },
      // @ts-expect-error One way in each entry.
      { limits: [{ limiter: api, limit: 1, period: "1m" }] },
      // @ts-expect-error A store belongs to the limiter.
      { limiter: api, store, prefix: "p" },
      // @ts-expect-error Rules or a limiter.
      { rules, limiter: api },
      // @ts-expect-error Rules or numbers.
      { rules, limit: 1, period: "1m" },
      // @ts-expect-error Rules have keys of their own.
      { rules, key },
      // @ts-expect-error There must be a limit.
      { key },
    ];
    for (const options of wrong) assert.throws(() => limitHandler(options), /^(Type|Range)Error/);
  });

  test("of a request choose a limiter or an algorithm, or say that there is none", async () => {
    const chosen: readonly unknown[] = [undefined, null, {}, "free", Promise.resolve(undefined)];
    for (const [name, unknown] of chosen.entries()) {
      for (const option of ["limiter", "policy"] as const) {
        const failures: unknown[] = [];
        const onFailure = (error: unknown) => void failures.push(error);
        const options = { [option]: () => unknown, key, onFailure } as unknown as Options;
        const request = new Request("http://localhost/");
        await assert.rejects(
          async () => await limitHandler(options)(() => new Response("ok"))(request),
          new RegExp(
            `${option} must return (an algorithm|a limiter\\(\\.\\.\\.\\)) or "unlimited"`,
          ),
          String(name),
        );
        assert.equal(failures.length, 1);
        const shadowed = limitHandler({ ...options, shadow: true })(() => new Response("ok"));
        assert.equal((await shadowed(request)).status, 200);
        assert.equal(failures.length, 2);
        const unlimited = { [option]: () => "unlimited", key } as unknown as Options;
        const free = await limitHandler(unlimited)(() => new Response("ok"))(request);
        assert.deepEqual([free.status, free.headers.get("ratelimit")], [200, null]);
      }
    }
  });

  test("have keys: a missing one is a 400, unless it is admitted, whatever the address", async () => {
    for (const missing of [undefined, null, ""]) {
      for (const unknownAddress of [undefined, "admit", "refuse"] as const) {
        const options: Options = { limiter: api, key: () => missing, unknownAddress };
        const request = new Request("http://localhost/");
        const refused = await limitHandler(options)(() => new Response("ok"))(request);
        assert.equal(refused.status, 400);
        const admitting: Options = { ...options, missingKey: "admit" };
        const admitted = await limitHandler(admitting)(() => new Response("ok"))(request);
        assert.equal(admitted.status, 200);
      }
    }
  });

  test("share one clock, which every field follows", async () => {
    const clock = () => 1_764_000_000_000;
    const limit = { limit: 10, period: "1m", burst: 2 } as const;
    const ways: readonly Options[] = [
      { ...limit, clock },
      { policy: () => gcra(limit), clock },
      { limiter: limiter(gcra(limit), { clock }) },
      { limiter: () => limiter(gcra(limit), { clock }) },
      { limits: [{ ...limit, clock }] },
      {
        rules: await requestRules({
          domain: "d",
          routes: [{ path: "/", descriptors: [{ a: "b" }] }],
          rules: [{ key: "a", limits: [{ ...limit, algorithm: "gcra" }] }],
        }, { clock }),
        address: () => "192.0.2.7",
      },
    ];
    for (const way of ways) {
      const options = { headers: "legacy", ...(way.rules ? {} : { key }), ...way } as Options;
      const limited = limitHandler(options)(() => new Response("ok"));
      const { headers } = await limited(new Request("http://localhost/"));
      assert.equal(headers.get("x-ratelimit-reset"), "1764000006");
    }
  });
});
