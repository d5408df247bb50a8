import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Cause, Config, ConfigProvider, Duration, Effect, Exit, Schema } from "effect";
import fc from "fast-check";

import { algorithmOf, limitConfig, Policy } from "../../../adapters/effect/effect.ts";
import {
  all,
  calendarWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  lockout,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const rate = { limit: 10, period: "1m" } as const;
const bucket = { ...rate, burst: 10 } as const;
const factories = {
  ...{ gcra, tokenBucket, leakyBucket, leakyQueue, fixedWindow, slidingWindow },
  ...{ slidingLog, slidingCounter, lockout },
};

/** Algorithms by their factories' options, and durations that only this schema takes. */
const single: readonly (readonly [keyof typeof factories, options: object, own?: object])[] = [
  ["gcra", { burst: 3, name: "api" }],
  ["tokenBucket", { burst: 10, refill: "interval" }],
  ["leakyBucket", { burst: 2 }],
  ["leakyQueue", { queue: 4 }],
  ["leakyQueue", { queue: 4, burst: 3 }],
  ["fixedWindow", {}],
  ["fixedWindow", { anchor: "first" }],
  ["fixedWindow", { anchor: 7 }],
  ["slidingLog", {}, { period: 60_000 }],
  ["lockout", { lock: "1h" }, { period: "1 minute", lock: "1 hour" }],
  ["lockout", { lock: ["1m", "5m"], forget: "1d" }, {
    lock: [60_000, "5 minutes"],
    forget: "1 day",
  }],
  ["slidingCounter", {}, { period: "1 minute" }],
  ["slidingWindow", { precision: "1s" }],
];

/** A quota by the calendar, which has no period. */
const monthly = { limit: 10, every: "month", zone: "Europe/Berlin" } as const;

/** Each algorithm as data, and as its factory makes it. */
const table: [unknown, { readonly id: string; readonly name: string }][] = [
  [bucket, gcra(bucket)],
  [{ algorithm: "calendarWindow", ...monthly }, calendarWindow(monthly)],
  [
    { algorithm: "calendarWindow", ...monthly, every: "week", weekStart: 7, name: "free" },
    calendarWindow({ ...monthly, every: "week", weekStart: 7, name: "free" }),
  ],
  [
    { algorithm: "all", policies: [bucket, { algorithm: "slidingLog", ...rate }] },
    all(gcra(bucket), slidingLog(rate)),
  ],
];
for (const [algorithm, options, own] of single) {
  const made = factories[algorithm]({ ...rate, ...options } as never);
  table.push([{ algorithm, ...rate, ...options, ...own }, made]);
}

describe("Policy", () => {
  for (const [encoded, { id, name }] of table) {
    test(`makes ${id} of ${JSON.stringify(encoded)}`, () => {
      const policy = Schema.decodeUnknownSync(Policy)(encoded);
      if ("period" in policy) assert.ok(Duration.isDuration(policy.period));
      const algorithm = algorithmOf(policy);
      assert.deepEqual([algorithm.id, algorithm.name], [id, name]);
      const json = JSON.parse(JSON.stringify(Schema.encodeSync(Policy)(policy)));
      assert.deepEqual(Schema.decodeUnknownSync(Policy)(json), policy);
    });
  }

  const wrong: [unknown, RegExp][] = [
    [{ ...bucket, limit: -1 }, /Cannot create gcra as limit must be an integer of at least 0/],
    [{ ...bucket, limit: "10" }, /limit/],
    [{ ...bucket, period: "1 fortnight" }, /period must be whole milliseconds/],
    [{ ...bucket, period: 0.5 }, /period must be whole milliseconds/],
    [{ ...bucket, period: "soon" }, /period must be whole milliseconds/],
    [
      { ...bucket, algorithm: "sliding" },
      /"gcra", or another.*"slidingCounter", .*"lockout", "concurrency" or "all"/,
    ],
    [{ ...rate, algorithm: "slidingWindow" }, /Missing key\s+at \["precision"\]/],
    [rate, /^SchemaError: Missing key\s+at \["burst"\]/],
    [{ limit: 5, burst: 5 }, /^SchemaError: Missing key\s+at \["period"\](?![^]*Missing key)/],
    [{ algorithm: "slidingWindow", ...rate, precision: "7s" }, /precision must divide the period/],
    [{ algorithm: "all", policies: [] }, /policies/],
    [{ algorithm: "all", policies: [{ ...rate, burst: -1 }] }, /burst must be a positive integer/],
    [{ ...rate, burst: 2 ** 52 }, /2\^53/],
  ];
  for (const [encoded, message] of wrong) {
    test(`does not decode ${JSON.stringify(encoded)}`, () => {
      const exit = Schema.decodeUnknownExit(Policy)(encoded);
      assert.ok(Exit.isFailure(exit));
      assert.match(Cause.pretty(exit.cause), message);
    });
  }

  test("never throws, whatever it is given", () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.record({
        algorithm: fc.constantFrom("gcra", "all", "slidingWindow", "fixedWindow", undefined),
        limit: fc.anything(),
        period: fc.oneof(fc.anything(), fc.string()),
        precision: fc.anything(),
        policies: fc.anything(),
      }),
    );
    fc.assert(
      fc.property(anything, (input) => {
        const exit = Schema.decodeUnknownExit(Policy)(input);
        if (Exit.isSuccess(exit)) algorithmOf(exit.value);
        else assert.ok(!Cause.hasDies(exit.cause));
      }),
      fcOptions({ numRuns: 300 }),
    );
  });
});

describe("limitConfig", () => {
  const providerOf = (env: Record<string, string>) =>
    ConfigProvider.constantCase(ConfigProvider.fromEnv({ env }));
  const read = (env: Record<string, string>, path?: string) =>
    Effect.runPromiseExit(limitConfig("api", path).parse(providerOf(env)));

  test("reads every option from the environment, at the prefix or at another path", async () => {
    const envs: [Record<string, string>, id: string, path?: string][] = [
      [{ UP_LIMIT: "5", UP_PERIOD: "10s", UP_BURST: "5" }, "gcra/5/10000", "up"],
      [{ API_LIMIT: "5", API_PERIOD: "10s", API_BURST: "5" }, "gcra/5/10000"],
      [{ API_LIMIT: "5", API_PERIOD: "60000", API_BURST: "2" }, "gcra/5/60000"],
      [
        {
          API_ALGORITHM: "slidingWindow",
          API_LIMIT: "5",
          API_PERIOD: "1 minute",
          API_PRECISION: "1s",
        },
        "slidingWindow/60000/1000",
      ],
      [
        { API_ALGORITHM: "fixedWindow", API_LIMIT: "5", API_PERIOD: "1d", API_ANCHOR: "3600000" },
        "fixedWindow/86400000/3600000",
      ],
      [
        {
          API_ALGORITHM: "all",
          API_POLICIES_0_LIMIT: "5",
          API_POLICIES_0_PERIOD: "1s",
          API_POLICIES_0_BURST: "5",
          API_POLICIES_1_ALGORITHM: "slidingLog",
          API_POLICIES_1_LIMIT: "100",
          API_POLICIES_1_PERIOD: "1h",
        },
        "all(gcra/5/1000,slidingLog/3600000)",
      ],
    ];
    for (const [env, id, path] of envs) {
      const exit = await read(env, path);
      assert.ok(Exit.isSuccess(exit), JSON.stringify(env));
      assert.deepEqual([exit.value.prefix, exit.value.algorithm.id], ["api", id]);
    }
  });

  test("says a fault in one line, with its place", async () => {
    const rate = { API_LIMIT: "5", API_PERIOD: "1s" };
    const faults: [Record<string, string>, RegExp][] = [
      [{}, /^Expected the options of a limit at \["api"\]$/],
      [{ API_LIMIT: "5" }, /^Missing key at \["api"\]\["period"\]$/],
      [{ ...rate, API_LIMIT: "many" }, /^Expected .*number at \["api"\]\["limit"\]$/],
      [{ ...rate, API_LIMIT: "-1", API_BURST: "1" }, /limit must be an integer.* at \["api"\]$/],
      [{ ...rate, API_ALGORITHM: "sliding" }, /^Expected one of "gcra", .*\["algorithm"\]$/],
      [{ ...rate, API_ALGORITHM: "lockout", API_LOCK: "soon" }, /period must be .*\["lock"\]$/],
      [{ API_ALGORITHM: "all" }, /^Expected array at \["api"\]\["policies"\]$/],
      [
        { API_ALGORITHM: "all", API_POLICIES_0_LIMIT: "5" },
        /^Missing key at \["api"\]\["policies"\]\[0\]\["period"\]$/,
      ],
    ];
    for (const [env, reason] of faults) {
      const exit = await read(env);
      assert.ok(Exit.isFailure(exit) && !Cause.hasDies(exit.cause));
      const { message } = (Cause.squash(exit.cause) as Config.ConfigError).cause;
      assert.match(message, reason);
    }
  });

  test("is absent where there is nothing, and not where something is wrong", async () => {
    const given = (env: Record<string, string>) =>
      Effect.runPromiseExit(Config.option(limitConfig("api")).parse(providerOf(env)));
    const absent = await given({});
    assert.ok(Exit.isSuccess(absent) && absent.value._tag === "None");
    assert.ok(Exit.isFailure(await given({ API_LIMIT: "5" })));
  });
});
