import { initTRPC, type TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  rateLimit,
  type TrpcCall,
  type TrpcRateLimitContext,
} from "../../../adapters/frameworks/trpc.ts";
import { gcra, limiter, RateLimitedError } from "../../../mod.ts";

interface Context extends TrpcRateLimitContext {
  readonly user: string;
}

const t = initTRPC.context<Context>().create();
type Call = TrpcCall<Context>;

function routerOf(options: Partial<Parameters<typeof rateLimit<Call>>[0]> = {}) {
  const limited = t.procedure.use(rateLimit<Call>({
    limiter: limiter(gcra({ limit: 2, period: "1h" })),
    key: ({ ctx }) => ctx.user,
    ...options,
  }));
  return t.router({
    hello: limited.query(({ ctx }) => `${ctx.user}: ${ctx.rateLimit?.remaining}`),
    write: limited.mutation(() => "written"),
  });
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
        /^Cannot call hello as its limit is used up: try again in \d+ s$/,
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
    const chosen = limiter(gcra({ limit: 5, period: "1h" }));
    const create = t.createCallerFactory(routerOf({
      limiter: ({ ctx }) => ctx.user === "root" ? undefined : Promise.resolve(chosen),
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

  test("refuses options of the wrong type", () => {
    const api = limiter(gcra({ limit: 2, period: "1h" }));
    const make = rateLimit as (options: unknown) => unknown;
    assert.throws(() => make(undefined), TypeError);
    assert.throws(() => make({ limiter: api }), /key/);
    assert.throws(() => make({ limiter: {}, key: () => "a" }), /limiter/);
    assert.throws(() => make({ limiter: api, key: () => "a", cost: -1 }), RangeError);
  });
});
