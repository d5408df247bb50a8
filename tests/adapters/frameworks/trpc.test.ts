import { initTRPC, type TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  rateLimit,
  type TrpcCall,
  type TrpcRateLimitContext,
  type TrpcRateLimitOptions,
} from "../../../adapters/frameworks/trpc.ts";
import { objectSource, requestRules, type RuleFile } from "../../../adapters/rules/rules.ts";
import {
  concurrency,
  type Decision,
  gcra,
  limiter,
  memoryStore,
  RateLimitedError,
  type Store,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

const NOW = 1_764_000_000_000;

interface Context extends TrpcRateLimitContext {
  readonly user: string;
}

const t = initTRPC.context<Context>().create();
type Call = TrpcCall<Context>;

type Options = TrpcRateLimitOptions<Call>;

function routerOf(
  options: Partial<Options> | Pick<Options, "policy" | "rules"> = {},
) {
  const limited = t.procedure.use(rateLimit<Call>({
    limiter: limiter(gcra({ limit: 2, period: "1h", burst: 2 })),
    key: ({ ctx }: Call) => ctx.user,
    ...options,
  } as Options));
  return t.router({
    hello: limited.query(({ ctx }) => `${ctx.user}: ${ctx.rateLimit?.remaining}`),
    write: limited.mutation(() => "written"),
  });
}

/** Two limits, of an address and of a user. */
function twoLimits(store: Store) {
  const clock = () => NOW;
  const policy = { limit: 10, period: "1m" } as const;
  const wide = limiter(gcra({ ...policy, burst: 5 }), { store, prefix: "wide", clock });
  const narrow = limiter(gcra({ ...policy, burst: 2 }), { store, prefix: "narrow", clock });
  const limits = [
    { limiter: wide, key: () => "192.0.2.7" },
    { limiter: narrow, key: ({ ctx }: Call) => Promise.resolve(ctx.user) },
  ];
  return { wide, narrow, limits };
}

describe("tidegate/trpc", () => {
  test("limits procedures, and puts the decision on the context", async () => {
    const caller = t.createCallerFactory(routerOf())({ user: "ann" });
    assert.equal(await caller.hello(), "ann: 1");
    assert.equal(await caller.write(), "written");
    await assert.rejects(caller.hello(), (error) => {
      assert.ok(error instanceof Error && error.name === "TRPCError");
      assert.equal((error as TRPCError).code, "TOO_MANY_REQUESTS");
      assert.match(
        error.message,
        /^Cannot call hello because its limit is used up: try again in \d+ s$/,
      );
      assert.ok(error.cause instanceof RateLimitedError);
      assert.equal(error.cause.decision.remaining, 0);
      return true;
    });
  });

  test("counts each key alone", async () => {
    const create = t.createCallerFactory(routerOf());
    assert.equal(await create({ user: "ann" }).hello(), "ann: 1");
    assert.equal(await create({ user: "bob" }).hello(), "bob: 1");
  });

  test("takes limiter and cost of each call", async () => {
    const chosen = limiter(gcra({ limit: 5, period: "1h", burst: 5 }));
    const create = t.createCallerFactory(routerOf({
      limiter: ({ ctx }) => ctx.user === "root" ? "unlimited" : Promise.resolve(chosen),
      cost: ({ type }) => type === "mutation" ? 4 : 1,
    }));
    assert.equal(await create({ user: "root" }).hello(), "root: undefined");
    const ann = create({ user: "ann" });
    await ann.write();
    assert.equal(await ann.hello(), "ann: 0");
    await assert.rejects(ann.hello(), { code: "TOO_MANY_REQUESTS" });
  });

  test("is a 429 over HTTP", async () => {
    const router = routerOf({ cost: 3 });
    const response = await fetchRequestHandler({
      endpoint: "/trpc",
      req: new Request("http://localhost/trpc/hello"),
      router,
      createContext: () => ({ user: "ann" }),
    });
    assert.equal(response.status, 429);
    assert.equal((await response.json()).error.data.code, "TOO_MANY_REQUESTS");
  });

  test("charges several limits all or none, and gives the decision of all", async () => {
    for (const store of [memoryStore(), asyncMemoryStore()]) {
      const { wide, limits } = twoLimits(store);
      const caller = t.createCallerFactory(routerOf({ limiter: undefined, limits }))({
        user: "ann",
      });
      assert.equal(await caller.hello(), "ann: 1");
      assert.equal(await caller.hello(), "ann: 0");
      for (let refused = 0; refused < 2; refused++) {
        await assert.rejects(caller.hello(), ({ code, cause }) => {
          assert.equal(code, "TOO_MANY_REQUESTS");
          assert.deepEqual(cause.decision.parts.map(({ allowed }: Decision) => allowed), [
            true,
            false,
          ]);
          return true;
        });
      }
      // Nothing of the first limit was spent on calls that the second one refused.
      assert.equal((await wide.peek("192.0.2.7", 0)).remaining, 3);
    }
  });

  test("gives the units of all limits back to procedures that fail", async () => {
    for (const store of [memoryStore(), asyncMemoryStore()]) {
      const { wide, narrow, limits } = twoLimits(store);
      const limited = t.procedure.use(rateLimit<Call>({ limits, refund: "failed" }));
      const router = t.router({
        bad: limited.query(() => {
          throw new Error("boom");
        }),
        good: limited.query(() => "good"),
      });
      const caller = t.createCallerFactory(router)({ user: "ann" });
      await assert.rejects(caller.bad(), /boom/);
      await new Promise((resolve) => setTimeout(resolve));
      const left = async () => [
        (await wide.peek("192.0.2.7", 0)).remaining,
        (await narrow.peek("ann", 0)).remaining,
      ];
      assert.deepEqual(await left(), [5, 2]);
      assert.equal(await caller.good(), "good");
      assert.deepEqual(await left(), [4, 1]);
    }
  });

  test("holds a permit until the procedure has ended, in whatever way, and refuses others", async () => {
    const jobs = limiter(concurrency({ limit: 1, ttl: "1h" }));
    const isFree = () => jobs.peek("ann", 0).remaining === 1;
    const limited = t.procedure.use(rateLimit<Call>({ limiter: jobs, key: ({ ctx }) => ctx.user }));
    let end = () => {};
    const caller = t.createCallerFactory(t.router({
      slow: limited.query(() => new Promise<void>((resolve) => end = resolve)),
      good: limited.query(() => "good"),
      bad: limited.mutation(() => {
        throw new Error("boom");
      }),
    }))({ user: "ann" });
    assert.equal(await caller.good(), "good");
    assert.equal(isFree(), true);
    await assert.rejects(caller.bad(), /boom/);
    assert.equal(isFree(), true);
    const slow = caller.slow();
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(isFree(), false);
    await assert.rejects(caller.good(), { code: "TOO_MANY_REQUESTS" });
    end();
    await slow;
    assert.equal(isFree(), true);
    assert.equal(await caller.good(), "good");
  });

  test("limits the procedures of its scope alone, and gives nothing back to a client that left", async () => {
    const api = limiter(gcra({ limit: 2, period: "1h", burst: 2 }));
    const statuses: number[] = [];
    const limited = t.procedure.use(rateLimit<Call>({
      limiter: api,
      key: ({ ctx }) => ctx.user,
      refund: ({ status }) => statuses.push(status) < 0,
    }));
    const client = new AbortController();
    const leaving = (fails: boolean) => () => {
      client.abort();
      if (fails) throw new Error("gone");
    };
    const router = t.router({
      free: t.procedure.query(() => "free"),
      left: limited.query(leaving(false)),
      failed: limited.query(leaving(true)),
    });
    const caller = t.createCallerFactory(router)({ user: "ann" }, { signal: client.signal });
    assert.equal(await caller.free(), "free");
    assert.deepEqual([statuses, api.peek("ann", 0).remaining], [[], 2]);
    await caller.left();
    await assert.rejects(caller.failed(), /gone/);
    assert.deepEqual(statuses, [499, 499]);
  });

  test("limits by rules, which change while they are used", async () => {
    const rulesFor = (limit: number): RuleFile => ({
      domain: "calls",
      routes: [{ methods: ["QUERY"], path: "/hello", descriptors: [{ procedure: "hello" }] }],
      rules: [
        { key: "procedure", value: "hello", limits: [{ limit, period: "1h", burst: limit }] },
        { key: "user", limits: [{ limit: 3, period: "1h", burst: 3 }] },
      ],
    });
    const source = objectSource(rulesFor(1));
    const rules = await requestRules(source, { clock: () => NOW });
    const caller = t.createCallerFactory(routerOf({
      limiter: undefined,
      key: undefined,
      rules,
      unknownAddress: "admit",
      descriptors: ({ ctx: { user } }) => Promise.resolve([{ user }]),
    }));
    assert.equal(await caller({ user: "ann" }).hello(), "ann: 0");
    await assert.rejects(caller({ user: "ann" }).hello(), { code: "TOO_MANY_REQUESTS" });
    // The route's limit is spent; mutations have only the user's, and nothing of that was spent on
    // what the route refused.
    assert.equal(await caller({ user: "ann" }).write(), "written");
    source.set(rulesFor(3));
    assert.ok(await rules.reload());
    assert.equal(await caller({ user: "ann" }).hello(), "ann: 0");
    await assert.rejects(caller({ user: "ann" }).write(), { code: "TOO_MANY_REQUESTS" });
    await rules.close();
  });

  test("answers for a store that cannot decide, and for keys that cannot be used", async () => {
    const store = memoryStore();
    const failures: unknown[] = [];
    const create = t.createCallerFactory(routerOf({
      limiter: limiter(gcra({ limit: 2, period: "1h", burst: 2 }), { store, prefix: "a" }),
      key: ({ ctx: { user } }) => user === "nobody" ? undefined : user,
      onFailure: (error) => void failures.push(error),
    }));
    await assert.rejects(create({ user: "nobody" }).hello(), { code: "BAD_REQUEST" });
    await assert.rejects(create({ user: "a".repeat(2_000) }).hello(), { code: "BAD_REQUEST" });
    assert.deepEqual(failures, []);
    store.close();
    await assert.rejects(create({ user: "ann" }).hello(), { code: "SERVICE_UNAVAILABLE" });
    assert.equal(failures.length, 1);
  });

  test("refuses options of the wrong type", () => {
    const api = limiter(gcra({ limit: 2, period: "1h", burst: 2 }));
    const make = rateLimit as (options: unknown) => unknown;
    assert.throws(() => make(undefined), TypeError);
    assert.throws(() => make({ limiter: api }), /key/);
    assert.throws(
      () => make({ limits: [{ limiter: api, key: () => "a" }, { limiter: api }] }),
      /key/,
    );
    assert.throws(() => make({ limiter: {}, key: () => "a" }), /limiter/);
    assert.throws(() => make({ limiter: api, key: () => "a", headers: false }), /headers/);
    assert.throws(() => make({ limiter: api, key: () => "a", cost: -1 }), RangeError);
  });
});
