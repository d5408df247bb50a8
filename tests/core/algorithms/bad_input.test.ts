import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  acquire,
  all,
  consumeAll,
  gcra,
  leakyBucket,
  leakyQueue,
  limiter,
  memoryStore,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from "../../../mod.ts";
import { sizesOf } from "../../../core/algorithms/sizes_of.ts";
import type { OptionData, OptionKind } from "../../../core/options/options_data.ts";
import { ALGORITHMS } from "../../../core/rules/limit_options.ts";
import { denyCache, fallback, lease } from "../../../stores/layered/layered.ts";

/** Options that no type allows, as they come from JSON or plain JavaScript. */
// deno-lint-ignore no-explicit-any
const untyped = (value: unknown) => value as any;

const good = { limit: 10, period: 1_000 };
const bucket = { ...good, burst: 10 };

function fault(name: "RangeError" | "TypeError", ...parts: readonly string[]) {
  return (error: Error) => {
    assert.equal(error.name, name, error.message);
    for (const part of parts) {
      assert.ok(error.message.includes(part), `"${part}" is not in: ${error.message}`);
    }
    return true;
  };
}

/** Values that are right and wrong for an option of a kind. */
function valuesOf(
  data: OptionKind,
): { readonly right: unknown; readonly wrong: readonly unknown[] } {
  switch (data.kind) {
    case "integer": {
      const { least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER } = data;
      const wrong = [least - 1, most + 1, 1.5, NaN, Infinity, "10", null, 10n];
      return { right: Math.min(10, most), wrong };
    }
    case "period": {
      const wrong = ["1 fortnight", "1.5s", "", 0, 0.5, NaN, 2 ** 42 + 1, null, {}];
      return { right: "1s", wrong };
    }
    case "text":
      return { right: "UTC", wrong: ["", 7, null] };
    case "choice":
      return { right: data.choices[0], wrong: ["noon", "", null] };
    case "list": {
      const { wrong } = valuesOf(data.items);
      return { right: [valuesOf(data.items).right], wrong: [[], ...wrong.map((each) => [each])] };
    }
    case "either": {
      const forms = data.kinds.map(valuesOf);
      const [first, ...others] = forms.map(({ wrong }) => wrong);
      const isWrong = (value: unknown) => others.every((wrong) => wrong.includes(value));
      const inLists = forms.flatMap(({ wrong }) => wrong.filter(Array.isArray));
      return { right: forms[0]!.right, wrong: [...first!.filter(isWrong), ...inLists] };
    }
  }
}

describe("the options of every algorithm are as their data says", () => {
  for (const [factory, { make, options }] of Object.entries(ALGORITHMS)) {
    const all: readonly [string, OptionData][] = Object.entries(options);
    const required = all.filter(([, data]) => data.default === undefined && !data.isOptional);
    const least = Object.fromEntries(required.map(([name, data]) => [name, valuesOf(data).right]));
    if (factory === "calendarWindow") least["every"] = "week";
    const create = (own: object) => make(untyped({ ...least, ...own }));

    test(`${factory} names the option, the rule and the value`, () => {
      for (const [option, data] of all) {
        const isRequired = required.some(([name]) => name === option);
        const { wrong } = valuesOf(data);
        assert.ok(wrong.length > 0);
        for (const value of isRequired ? [...wrong, undefined] : wrong) {
          assert.throws(() => create({ [option]: value }), (error: Error) => {
            assert.match(error.name, /^(TypeError|RangeError)$/);
            const rule = new RegExp(
              `^Cannot create ${factory} as (each )?${option} must .*: current`,
            );
            assert.match(error.message, rule);
            return true;
          }, `${option}: ${String(value)}`);
        }
      }
      for (const own of [undefined, null, 10]) {
        assert.throws(() => make(untyped(own)), fault("TypeError", `Cannot create ${factory}`));
      }
    });

    test(`${factory} takes a default for what may be left out`, () => {
      const plain = create({});
      for (const [option, data] of all) {
        const { default: value } = data;
        if (value === undefined) continue;
        const given = create({ [option]: value });
        assert.deepEqual([given.id, sizesOf(given)], [plain.id, sizesOf(plain)], option);
      }
    });
  }
});

describe("the options of one algorithm", () => {
  const wrong: readonly [() => unknown, "RangeError" | "TypeError", ...string[]][] = [
    [() => gcra({ ...bucket, limit: -1 }), "RangeError", "limit must be an integer of at least 0"],
    [() => gcra({ ...bucket, limit: untyped("9") }), "TypeError", "limit must be", '"9"'],
    [() => gcra({ ...bucket, period: untyped([1]) }), "TypeError", "period must be", "an array"],
    [() => gcra({ ...bucket, period: 2 ** 43 }), "RangeError", "period must be", "8796093022208"],
    [() => gcra(untyped(good)), "TypeError", "burst must be given", "undefined"],
    [() => tokenBucket(untyped(good)), "TypeError", "burst must be given"],
    [() => leakyBucket(untyped({ ...good, limit: 0 })), "TypeError", "burst must be given"],
    [
      () => slidingWindow({ ...good, precision: 300 }),
      "RangeError",
      "precision must divide the period of 1000 ms",
      "300",
    ],
    [
      () => slidingWindow({ limit: 1, period: "1d", precision: "1s" }),
      "RangeError",
      "at most 65536 sub-buckets",
      '"1s"',
    ],
    [() => slidingWindow({ ...good, precision: 2_000 }), "RangeError", "precision"],
    [() => all(), "TypeError", "at least one algorithm", "an empty array"],
    [() => all(untyped(good)), "TypeError", "must be algorithms", "an object"],
  ];
  for (const [create, name, ...parts] of wrong) {
    test(String(create), () => void assert.throws(create, fault(name, ...parts)));
  }

  test("a rate that its bucket can never reach names the room needed, and that reaches it", () => {
    const makers = {
      gcra,
      tokenBucket,
      leakyBucket,
      leakyQueue: ({ burst, ...rate }: typeof bucket) => leakyQueue({ ...rate, queue: burst - 1 }),
    };
    for (const [name, make] of Object.entries(makers)) {
      for (const [limit, needed] of [[5_000, 5], [12_500_001, 12_501], [1_001, 2]] as const) {
        const room = name === "leakyQueue" ? "queue + burst" : "burst";
        assert.throws(
          () => make({ limit, period: 1_000, burst: needed - 1 }),
          fault("RangeError", `${room} must be at least ${needed} `, `is ${needed - 1}`),
        );
        const { initial, step } = make({ limit, period: 1_000, burst: needed }) as ReturnType<
          typeof gcra
        >;
        let [state, units] = [initial, 0];
        for (let now = 10_000; now < 12_000; now++) {
          const [{ remaining }] = step(state, now, 0);
          units += now < 11_000 ? 0 : remaining;
          state = step(state, now, remaining)[1];
        }
        assert.equal(units, limit, name);
      }
    }
  });

  test("a policy too large to be exact names the product", () => {
    const year = 365 * 86_400_000;
    const large: readonly [() => unknown, string][] = [
      [() => gcra({ limit: 999_999_937, period: year + 1, burst: 999_999_937 }), "burst * period"],
      [() => leakyBucket({ limit: 1, period: year, burst: 285_616_416 }), "burst * period"],
      [() => leakyQueue({ ...good, period: 997, queue: 2 ** 53 - 1 }), "queue"],
      [() => slidingCounter({ limit: 1e9, period: year }), "2 * limit * period"],
      [
        () => tokenBucket({ limit: 1e9, period: 1, burst: 1e9, refill: "interval" }),
        "limit * ceil(2^42 / period) + burst",
      ],
      [
        () => tokenBucket({ limit: 1, period: 1e9, burst: 1e8, refill: "interval" }),
        "2^42 + ceil(burst / limit) * period",
      ],
      [() => gcra({ limit: 1, period: 1e8, burst: 90_050_000 }), "2^42 + burst * period / limit"],
    ];
    for (const [create, product] of large) {
      assert.throws(create, fault("RangeError", product, "current value is"));
    }
  });
});

test("the arguments of a step are named; the laws hold that each algorithm refuses them", () => {
  const { step, initial } = gcra(bucket);
  for (const now of [NaN, -1, -0.5, Infinity, 2 ** 42 + 1, undefined, "5000", null]) {
    assert.throws(() => step(initial, untyped(now), 1), fault("RangeError", "now must be"));
  }
  for (const cost of [NaN, 1.5, 2 ** 60, Infinity, "1", undefined]) {
    const name = typeof cost === "number" ? "RangeError" : "TypeError";
    assert.throws(() => step(initial, 5_000, untyped(cost)), fault(name, "cost must be"));
  }
});

describe("a limiter's arguments", () => {
  const api = limiter(gcra(bucket), { clock: () => 5_000 });

  test("keys", () => {
    for (const key of ["", undefined, null, 42, {}]) {
      for (const call of ["consume", "peek", "refund", "charge", "reset"] as const) {
        assert.throws(
          () => api[call](untyped(key)),
          fault("TypeError", `Cannot ${call} as key must be a non-empty string`),
        );
      }
    }
  });

  test("the options of acquire", async () => {
    const wrong: readonly [unknown, unknown, string][] = [
      ["", {}, "Cannot acquire as key must be a non-empty string"],
      ["a", 3, "Cannot acquire as its options must be an object: current value is 3"],
      ["a", null, "its options must be an object"],
      ["a", { signal: 5 }, "Cannot acquire as signal must be an AbortSignal: current value is 5"],
      ["a", { signal: null }, "signal must be an AbortSignal"],
    ];
    for (const [key, options, message] of wrong) {
      await assert.rejects(
        acquire(api, untyped(key), untyped(options)),
        fault("TypeError", message),
      );
    }
    assert.equal(api.peek("a", 0).remaining, 10);
  });

  test("costs", async () => {
    for (const cost of [NaN, 1.5, 2 ** 60, -1, "1", 1n]) {
      const name = typeof cost === "number" ? "RangeError" : "TypeError";
      for (const call of ["consume", "peek", "refund", "charge"] as const) {
        assert.throws(() => api[call]("a", untyped(cost)), fault(name, `Cannot ${call}`));
      }
      await assert.rejects(
        acquire(api, "a", { cost: untyped(cost) }),
        fault(name, "Cannot acquire"),
      );
    }
    assert.throws(() => api.refund("a", 0), fault("RangeError", "at least 1"));
    assert.equal(api.peek("a", 0).remaining, 10);
  });

  test("maxWait", async () => {
    for (const maxWait of [NaN, -1, "5", "soon"]) {
      await assert.rejects(
        acquire(api, "a", { maxWait: untyped(maxWait) }),
        fault("RangeError", "maxWait must be"),
      );
    }
  });

  test("a clock that returns nonsense changes nothing", () => {
    let now = 5_000;
    const ticking = limiter(gcra(bucket), { clock: () => now });
    ticking.consume("a");
    for (const nonsense of [NaN, -1, Infinity, untyped("noon")]) {
      now = nonsense;
      assert.throws(() => ticking.consume("a"), fault("RangeError", "now must be"));
    }
    now = 5_000;
    assert.equal(ticking.peek("a", 0).remaining, 9);
  });

  test("options", () => {
    const store = memoryStore();
    const create = (options: unknown) => () => limiter(gcra(bucket), untyped(options));
    assert.throws(create({ store }), fault("TypeError", "prefix must be a non-empty string"));
    assert.throws(create({ store, prefix: "" }), fault("TypeError", "prefix", '""'));
    for (const foreign of [memoryStore, {}, 5, null]) {
      assert.throws(create({ store: foreign, prefix: "a" }), fault("TypeError", "be a store"));
    }
    assert.throws(create({ clock: 5 }), fault("TypeError", "clock must be a function"));
    assert.throws(create({ onDecision: 5 }), fault("TypeError", "onDecision must be a function"));
    assert.throws(create({ onFailure: 5 }), fault("TypeError", "onFailure must be a function"));
    assert.throws(create({ maxWaiting: 0 }), fault("RangeError", "maxWaiting"));
    assert.throws(create({ maxWaiting: "5" }), fault("TypeError", "maxWaiting must be", '"5"'));
    assert.throws(create({ replaces: {} }), fault("TypeError", "replaces.algorithm"));
    const old = gcra({ ...bucket, limit: 5 });
    assert.throws(
      create({ replaces: { algorithm: old, mode: "guess" } }),
      fault("TypeError", "replaces.mode", '"guess"'),
    );
    assert.throws(create({ replaces: null }), fault("TypeError", "replaces.algorithm"));
    assert.throws(create({ replaces: [old] }), fault("TypeError", "replaces.algorithm"));
    assert.throws(() => limiter(untyped(good)), fault("TypeError", "it needs an algorithm"));
    assert.throws(() => memoryStore(untyped(5)), fault("TypeError", "options must be an object"));
    assert.throws(() => memoryStore({ maxKeys: 0 }), fault("RangeError", "maxKeys"));
    assert.throws(() => memoryStore({ maxKeys: 2 ** 31 }), fault("RangeError", "maxKeys"));
    assert.throws(() => memoryStore({ onFull: untyped("ask") }), fault("TypeError", '"ask"'));
  });

  test("stores made of stores", () => {
    const store = memoryStore();
    const wrong: readonly [() => unknown, string][] = [
      [() => denyCache(untyped(undefined)), "Cannot create denyCache as its store must be a store"],
      [() => lease(untyped({}), { units: 2, ttl: 10 }), "Cannot create lease as its store must be"],
      [() => fallback(untyped(5), store, { share: 1 }), "Cannot create fallback as its store must"],
      [
        () => fallback(store, untyped(memoryStore), { share: 1 }),
        "the other store must be a store",
      ],
    ];
    for (const [create, message] of wrong) assert.throws(create, fault("TypeError", message));
  });

  test("consumeAll", () => {
    const store = memoryStore();
    const one = limiter(gcra(bucket), { store, prefix: "one" });
    const other = limiter(gcra(bucket), { store, prefix: "other" });
    const elsewhere = limiter(gcra(bucket), { store: memoryStore(), prefix: "one" });
    const clocked = limiter(gcra(bucket), { store, prefix: "clocked", clock: () => 5_000 });
    const wrong: readonly [unknown, string][] = [
      [undefined, "at least one entry: current value is undefined"],
      [{}, "at least one entry: current value is an object"],
      [[], "at least one entry: current value is an empty array"],
      [[null], "must have a limiter"],
      [[{ limiter: one, key: "a" }, { limiter: elsewhere, key: "a" }], "on one store"],
      [[{ limiter: one, key: "a" }, { limiter: clocked, key: "a" }], "share one clock"],
      [
        [{ limiter: one, key: "a" }, { limiter: one, key: "a" }],
        "each stored key must occur only once",
      ],
      [[{ limiter: {}, key: "a" }], "must have a limiter"],
      [[{ limiter: one, key: "" }], "key must be a non-empty string"],
    ];
    for (const [entries, message] of wrong) {
      assert.throws(() => consumeAll(untyped(entries)), fault("TypeError", message));
    }
    assert.throws(
      () => consumeAll([{ limiter: one, key: "a" }, { limiter: other, key: "a", cost: -1 }]),
      fault("RangeError", "cost must be"),
    );
    assert.equal(one.peek("a", 0).remaining, 10);
  });
});
