import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Effect, Layer, Metric, Schema } from "effect";
import { HttpRouter, HttpServer } from "effect/http";
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api";

import {
  layerRateLimit,
  layerStore,
  limit,
  RateLimit,
  RateLimitDecision,
  type RateLimitOptions,
} from "../../../../adapters/effect/effect.ts";
import { gcra, limiter, memoryStore, type Store } from "../../../../mod.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { defectOf } from "../support/defect_of.ts";

const users = HttpApiGroup.make("users")
  .add(HttpApiEndpoint.get("list", "/users", { success: Schema.String }))
  .middleware(RateLimit);
const Api = HttpApi.make("api").add(users);
const handlers = HttpApiBuilder.group(
  Api,
  "users",
  (group) =>
    group.handle(
      "list",
      () =>
        Effect.map(RateLimitDecision, (decision) =>
          String(decision?.parts?.map(({ remaining }) => remaining))),
    ),
);

const ofAddress = limit("address", gcra({ limit: 10, period: "1h", burst: 10, name: "address" }));
const ofUser = limit("user", gcra({ limit: 2, period: "1h", burst: 2, name: "user" }));
const limits: RateLimitOptions["limits"] = [
  { limit: ofAddress, key: () => "192.0.2.7" },
  { limit: ofUser, key: ({ headers }) => Effect.succeed(headers["x-user"]) },
];

/** Sends a request of a user. */
type Ask = (user?: string) => Promise<Response>;

async function serving(
  options: RateLimitOptions,
  store: Store,
  use: (ask: Ask) => Promise<void>,
): Promise<void> {
  const server = HttpApiBuilder.layer(Api).pipe(
    Layer.provide(handlers),
    Layer.provide(layerRateLimit(options)),
    Layer.provide(layerStore(store)),
    Layer.provide(HttpServer.layerServices),
  );
  const web = HttpRouter.toWebHandler(server, { disableLogger: true });
  const ask = (user = "ada") =>
    web.handler(new Request("http://localhost/users", { headers: { "x-user": user } }));
  await use(ask as Ask).finally(web.dispose);
}

const STORES = { "at once": memoryStore, "later": asyncMemoryStore } as const;

describe("several limits of an HttpApi", () => {
  for (const [when, makeStore] of Object.entries(STORES)) {
    test(`spend nothing of the first when the second refuses, answered ${when}`, async () => {
      const store = makeStore();
      await serving({ limits }, store, async (ask) => {
        assert.equal(await (await ask()).text(), '"9,1"');
        assert.equal((await ask()).status, 200);
        for (let refused = 0; refused < 5; refused++) {
          const response = await ask();
          assert.equal(response.status, 429);
          assert.deepEqual((await response.json())["violated-policies"], ["user"]);
        }
        const other = await ask("bob");
        assert.equal(other.status, 200);
        assert.match(other.headers.get("ratelimit")!, /^"address";r=7;t=\d+, "user";r=1;t=\d+$/);
        assert.equal(
          other.headers.get("ratelimit-policy"),
          '"address";q=10;w=3600, "user";q=2;w=3600',
        );
      });
      const { algorithm, prefix } = ofAddress;
      assert.equal((await limiter(algorithm, { store, prefix }).peek("192.0.2.7", 0)).remaining, 7);
    });
  }

  test("count what each limit decided; a limit that would have admitted counts no refusal", async () => {
    const [address, user] = ["several:address", "several:user"].map((prefix, index) =>
      limit(prefix, gcra({ limit: 2 - index, period: "1h", burst: 2 - index }))
    );
    const given = [{ limit: address! }, { limit: user!, key: () => "user" }];
    await serving({ limits: given, key: () => "address" }, memoryStore(), async (ask) => {
      assert.equal((await ask()).status, 200);
      assert.equal((await ask()).status, 429);
    });
    const counts = (await Effect.runPromise(Metric.snapshot))
      .filter(({ id, attributes }) =>
        id === "tidegate_decisions" && attributes?.["prefix"]?.startsWith("several:")
      )
      .map(({ attributes, state }) =>
        `${attributes!["prefix"]} ${attributes!["verdict"]} ${(state as { count: number }).count}`
      );
    assert.deepEqual(counts.sort(), [
      "several:address admitted 1",
      "several:user admitted 1",
      "several:user refused 1",
    ]);
  });

  test("each limit has its own cost or the common one, and a chosen limit may be absent", async () => {
    const options: RateLimitOptions = {
      limits: [
        { limit: ofAddress, cost: () => Effect.succeed(3) },
        {
          limit: ({ headers }) => headers["x-user"] === "root" ? "unlimited" : ofUser,
          key: ({ headers }) => headers["x-user"],
        },
      ],
      key: () => "everybody",
      cost: 2,
    };
    await serving(options, memoryStore(), async (ask) => {
      assert.match((await ask()).headers.get("ratelimit")!, /^"address";r=7;.*"user";r=0;/);
      assert.match((await ask("root")).headers.get("ratelimit")!, /^"address";r=4;t=\d+$/);
      assert.equal((await ask()).status, 429);
    });
  });

  test("are checked when the layer is made", async () => {
    const wrong: [options: unknown, error: RegExp][] = [
      [{ limits: [] }, /limits must be a list of 1 to 16 limits/],
      [{ limits: "address" }, /limits must be a list of 1 to 16 limits/],
      [{ limits: [{}] }, /it needs a limit, such as limit\(\.\.\.\)/],
      [{ limits, limit: ofUser }, /limit belongs to the entries of limits/],
      [{ limits: [{ limit: ofUser, kye: () => "" }] }, /kye/],
      [{ limits: [{ limit: ofUser, cost: -1 }] }, /cost/],
    ];
    for (const [options, error] of wrong) assert.match(String(await defectOf(options)), error);
  });
});
