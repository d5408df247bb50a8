import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import {
  acquire,
  type Algorithm,
  all,
  consumeAll,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  RateLimitedError,
  slidingWindow,
  type SyncStore,
  tokenBucket,
} from "../../../mod.ts";
import type { BoundVerb, Verb } from "../../../core/store.ts";

const rate = { limit: 10, period: 1_000 };

const bucket = { ...rate, burst: 10 };

describe("limiter", () => {
  test("has a memory store of its own, and shares nothing with another", () => {
    const one = limiter(gcra(bucket));
    const other = limiter(gcra(bucket));
    one.consume("a", 10);
    assert.equal(one.consume("a").allowed, false);
    assert.equal(other.consume("a").allowed, true);
  });

  test("keeps prefixes and options apart on one store, but for the sizes of limits", () => {
    const store = memoryStore();
    const clock = () => 5_000;
    const made = [
      limiter(gcra(bucket), { store, clock, prefix: "one" }),
      limiter(gcra(bucket), { store, clock, prefix: "two" }),
      limiter(gcra({ ...bucket, burst: 9 }), { store, clock, prefix: "one" }),
      limiter(tokenBucket(bucket), { store, clock, prefix: "one" }),
    ];
    made[0]!.consume("a", 5);
    assert.deepEqual(made.map((limiter) => limiter.peek("a", 0).remaining), [5, 10, 4, 10]);
    const again = limiter(gcra(bucket), { store, clock, prefix: "one" });
    assert.equal(again.peek("a", 0).remaining, 5);
  });

  test("exposes its arguments", () => {
    const store = memoryStore();
    const algorithm = gcra(bucket);
    const made = limiter(algorithm, { store, prefix: "mine" });
    assert.equal(made.algorithm, algorithm);
    assert.equal(made.store, store);
    assert.equal(made.prefix, "mine");
  });

  test("reports verdicts that were given, and no looks", () => {
    const reported: [boolean, string, number][] = [];
    const onDecision = ({ allowed }: Decision, key: string, cost: number) =>
      void reported.push([allowed, key, cost]);
    const store = memoryStore();
    const made = limiter(gcra(bucket), { store, prefix: "a", clock: () => 5_000, onDecision });
    made.consume("a", 8);
    made.peek("a");
    made.consume("b", 11);
    made.refund("a", 2);
    consumeAll([{ limiter: made, key: "a" }, { limiter: made, key: "c", cost: 2 }]);
    assert.deepEqual(reported, [
      [true, "a", 8],
      [false, "b", 11],
      [true, "a", -2],
      [true, "a", 1],
      [true, "c", 2],
    ]);
  });

  test("reads the clock once a call", () => {
    let reads = 0;
    const clock = () => 5_000 + reads++;
    const made = limiter(all(gcra(bucket), fixedWindow(rate)), { clock });
    made.consume("a");
    made.peek("a");
    made.refund("a");
    assert.equal(reads, 3);
  });

  test("runs on a store whose bound verbs need `this`", () => {
    const inner = memoryStore();
    const store: SyncStore = {
      ...inner,
      open(spec) {
        const family = inner.open(spec);
        return {
          ...family,
          bind<Argument, Answer>(verb: Verb<Argument, Answer>) {
            return new OwnBoundVerb(family.bind(verb));
          },
        };
      },
    };
    const made: Limiter = limiter(gcra(bucket), { store, prefix: "own", clock: () => 5_000 });
    assert.equal(made.consume("a", 3).remaining, 7);
    assert.equal(made.refund("a", 2).remaining, 9);
    assert.equal(made.peek("a", 0).remaining, 9);
  });
});

/** A bound verb as a class of somebody's own writes it. */
class OwnBoundVerb<Argument, Answer> implements BoundVerb<Argument, Answer, "sync"> {
  readonly #inner: BoundVerb<Argument, Answer, "sync">;
  constructor(inner: BoundVerb<Argument, Answer, "sync">) {
    this.#inner = inner;
  }
  get family() {
    return this.#inner.family;
  }
  get verb() {
    return this.#inner.verb;
  }
  get steps() {
    return this.#inner.steps;
  }
  call(key: string, argument: Argument, now: number | undefined): Answer {
    return this.#inner.call(key, argument, now);
  }
}

describe("consumeAll", () => {
  const store = memoryStore();
  const clock = () => 5_000;
  const user = limiter(gcra({ limit: 3, period: 3_000, burst: 3 }), {
    store,
    clock,
    prefix: "user",
  });
  const address = limiter(fixedWindow({ limit: 2, period: 60_000 }), {
    store,
    clock,
    prefix: "address",
  });
  const entries = [{ limiter: user, key: "42" }, { limiter: address, key: "192.0.2.7", cost: 2 }];

  test("charges all or none, and answers as all does", () => {
    const admitted = consumeAll(entries);
    assert.equal(admitted.allowed, true);
    assert.deepEqual(admitted.parts?.map((part) => part.remaining), [2, 0]);
    const refused = consumeAll(entries);
    assert.equal(refused.allowed, false);
    assert.deepEqual(refused.parts?.map((part) => part.allowed), [true, false]);
    assert.equal(refused.retryAfter, 55_000);
    assert.equal(user.peek("42", 0).remaining, 2);
    assert.deepEqual(
      [admitted.remaining, admitted.limit, admitted.nextAfter, admitted.resetAfter],
      [0, 2, 55_000, 55_000],
    );
  });

  test("has a nextAfter of 0 at capacity, also where a larger limit has units in use", () => {
    const entries = [{ limiter: user, key: "7" }, { limiter: address, key: "192.0.2.9", cost: 0 }];
    const { remaining, nextAfter, parts } = consumeAll(entries);
    assert.deepEqual([remaining, nextAfter], [2, 0]);
    assert.deepEqual(parts?.map((part) => part.nextAfter), [1_000, 0]);
  });

  test("reports each entry's decision to its own limiter", () => {
    const store = memoryStore();
    const reported: [string, string, number, number][] = [];
    const reporting = (prefix: string, limit: number) =>
      limiter(gcra({ limit, period: "1m", burst: limit }), {
        store,
        prefix,
        clock,
        onDecision: ({ remaining }, key, cost) =>
          void reported.push([prefix, key, cost, remaining]),
      });
    consumeAll([
      { limiter: reporting("user", 3), key: "42" },
      { limiter: reporting("address", 9), key: "192.0.2.7", cost: 2 },
    ]);
    assert.deepEqual(reported, [["user", "42", 1, 2], ["address", "192.0.2.7", 2, 7]]);
  });
});

describe("replaces", () => {
  const old = gcra({ limit: 10, period: "1h", burst: 10 });
  const clock = () => 3_600_000;

  /** A limiter that replaces one on which "a" had used that many units. */
  function replacing(units: number, algorithm: Algorithm, mode: "keep" | "proportional") {
    const store = memoryStore();
    limiter(old, { store, clock, prefix: "api" }).consume("a", units);
    return limiter(algorithm, { store, clock, prefix: "api", replaces: { algorithm: old, mode } });
  }

  test("keep carries use over unit by unit, proportional as a share", () => {
    for (const [mode, left] of [["keep", 16], ["proportional", 12]] as const) {
      const made = replacing(4, gcra({ limit: 20, period: "1h", burst: 20 }), mode);
      assert.equal(made.peek("a", 0).remaining, left);
      assert.equal(made.consume("a").remaining, left - 1);
      assert.equal(made.peek("a", 0).remaining, left - 1);
      assert.equal(made.peek("b", 0).remaining, 20);
    }
  });

  test("a smaller limit that is used up already refuses", () => {
    const made = replacing(4, slidingWindow({ limit: 3, period: "1h", precision: "1m" }), "keep");
    assert.equal(made.consume("a").allowed, false);
    assert.equal(made.peek("a", 0).remaining, 0);
  });

  test("converts the parts of an all one by one", () => {
    const day = fixedWindow({ limit: 100, period: "1d" });
    const before = all(gcra({ limit: 5, period: "1s", burst: 5 }), day);
    const after = all(gcra({ limit: 6, period: "1s", burst: 6 }), day);
    let now = 86_400_000;
    const store = memoryStore();
    const options = { store, prefix: "api", clock: () => now };
    const old = limiter(before, options);
    for (let calls = 0; calls < 20; calls++, now += 1_000) assert.ok(old.consume("a", 5).allowed);
    const made = limiter(after, { ...options, replaces: { algorithm: before, mode: "keep" } });
    for (let calls = 0; calls < 20; calls++, now += 1_000) {
      assert.equal(made.consume("a").allowed, false);
    }
  });

  test("refuses an all in place of an algorithm with other parts", () => {
    const [one, two] = [gcra(bucket), fixedWindow(rate)];
    for (
      const [algorithm, replaced] of [
        [all(one, two), one],
        [one, all(one, two)],
        [all(one, two), all(one, two, one)],
        [all(one, all(two)), all(one, two)],
      ] as const
    ) {
      const replaces = { algorithm: replaced, mode: "keep" } as const;
      assert.throws(() => limiter(algorithm, { replaces }), {
        name: "TypeError",
        message: /replaces.algorithm must have the parts that the limiter's has, in the same order/,
      });
    }
  });

  test("writes a conversion though the call is refused, so that retryAfter holds", () => {
    let now = 86_400_000;
    const before = fixedWindow({ limit: 100, period: "1d" });
    const store = memoryStore();
    const options = { store, prefix: "api", clock: () => now };
    limiter(before, options).consume("a", 100);
    const replaces = { algorithm: before, mode: "keep" } as const;
    const made = limiter(fixedWindow({ limit: 100, period: "1m" }), { ...options, replaces });
    assert.equal(made.peek("a").retryAfter, 60_000);
    assert.equal(made.consume("a").retryAfter, 60_000);
    now += 59_999;
    assert.equal(made.consume("a").retryAfter, 1);
    now += 1;
    assert.equal(made.consume("a").remaining, 99);
  });

  test("a reset forgets both states", () => {
    const other = replacing(4, gcra({ limit: 30, period: "1s", burst: 30 }), "keep");
    other.reset("a");
    assert.equal(other.peek("a", 0).remaining, 30);
  });
});

describe("acquire", () => {
  test("refuses a call at once that can never be admitted", async () => {
    const made = limiter(gcra(bucket), { clock: virtualClock() });
    await assert.rejects(
      acquire(made, "a", { cost: 11 }),
      (error) =>
        error instanceof RateLimitedError && error.decision.retryAfter === Infinity &&
        error.message.includes("capacity of 10"),
    );
    assert.equal(made.peek("a", 0).remaining, 10);
  });

  test("an aborted signal takes nothing", async () => {
    const made = limiter(gcra(bucket), { clock: virtualClock() });
    await assert.rejects(
      acquire(made, "a", { signal: AbortSignal.abort(new Error("gone")) }),
      /gone/,
    );
    assert.equal(made.peek("a", 0).remaining, 10);
  });
});
