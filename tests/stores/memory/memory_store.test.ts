import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { peek } from "../../../core/verbs/peek.ts";
import {
  type Algorithm,
  consumeAll,
  type Decision,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  slidingLog,
  StoreFullError,
  StoreUnavailableError,
} from "../../../mod.ts";
import { isLong } from "../../support/seed.ts";

/** The most keys that a `Map` of V8 holds while others come and go. */
const MANY = isLong() ? 2 ** 23 : 10_000;

describe("memoryStore is bounded", () => {
  test("keys come and go, as many as it may hold", () => {
    const store = memoryStore({ maxKeys: MANY, maxBytes: 2 ** 33 });
    const algorithm = gcra({ limit: 1, period: "1h", burst: 1 });
    const api = limiter(algorithm, { store, prefix: "a", clock: () => 0 });
    for (let key = 0; key < 2 * MANY; key++) api.consume(`${key}`);
    const { keys, maxKeys, evictions } = store.statistics();
    assert.deepEqual([keys, maxKeys, evictions], [MANY, MANY, MANY]);
    assert.equal(api.peek(`${2 * MANY - 1}`).allowed, false);
    store.close();
    assert.equal(store.statistics().keys, 0);
    assert.throws(() => api.consume("0"), StoreUnavailableError);
  });

  test("a key that a batch only looks at keeps its use", () => {
    let now = 0;
    const store = memoryStore();
    const clock = () => now;
    const api = limiter(gcra({ limit: 2, period: 60_000, burst: 2 }), {
      store,
      prefix: "a",
      clock,
    });
    const windows = limiter(slidingLog({ limit: 2, period: 60_000 }), {
      store,
      prefix: "b",
      clock,
    });
    const limiters = [api, windows];
    // The store looks for fresh keys where the first unit alone would be over.
    for (const each of limiters) each.consume("seen");
    now = 29_000;
    for (const each of limiters) {
      each.consume("seen");
      for (let batch = 0; batch < 2; batch++) {
        consumeAll([{ limiter: each, key: "seen", cost: 0 }, { limiter: each, key: "other" }]);
      }
    }
    for (let call = 0; call < 1_000; call++) {
      now += 16;
      api.consume(`further ${call}`);
    }
    for (const each of limiters) assert.equal(each.consume("seen", 2).allowed, false);
  });

  test("refusals, looks and refunded calls hold nothing", () => {
    const store = memoryStore();
    const api = limiter(gcra({ limit: 5, period: "1m", burst: 5 }), { store, prefix: "a" });
    for (let index = 0; index < 1_000; index++) {
      api.consume(`key:${index}`, 6);
      api.peek(`key:${index}`);
      api.consume(`key:${index}`, 0);
      api.refund(`key:${index}`);
      api.reset(`key:${index}`);
      api.consume(`kept:${index}`, 5);
      api.refund(`kept:${index}`, 5);
    }
    assert.equal(store.statistics().keys, 0);
  });
});

describe("memoryStore", () => {
  test("full, it makes room of a fresh key of the same batch, or charges nobody", () => {
    const store = memoryStore({ maxKeys: 2, onFull: "throw" });
    const algorithm = gcra({ limit: 1, period: 1_000, burst: 1 });
    let now = 0;
    const api = limiter(algorithm, { store, prefix: "p", clock: () => now });
    api.consume("a");
    now = 900;
    api.consume("b");
    now = 1_000;
    // "a" is fresh, and would have to stay for the batch to fit.
    const entries = ["a", "c"].map((key) => ({ limiter: api, key }));
    assert.throws(() => consumeAll(entries), StoreFullError);
    assert.equal(api.peek("a", 0).remaining, 1);
  });

  test("full, it answers looks at new keys in a batch", () => {
    const store = memoryStore({ maxKeys: 1, onFull: "throw" });
    const algorithm = gcra({ limit: 5, period: "1m", burst: 5 });
    limiter(algorithm, { store, prefix: "p", clock: () => 0 }).consume("a");
    const bound = store.open({ prefix: "p", algorithm, older: [] }).bind(peek);
    const answers = store.run(["a", "b"].map((key) => ({ bound, key, argument: 0 })), 0);
    assert.deepEqual((answers as Decision[]).map(({ remaining }) => remaining), [4, 5]);
  });

  test("full, a batch keeps a key apart from that of another limit which takes its place", () => {
    const options = { store: memoryStore({ maxKeys: 1 }), clock: () => 0 };
    const [one, other] = ["one", "other"].map((prefix) =>
      limiter(gcra({ limit: 5, period: "1m", burst: 5 }), { ...options, prefix })
    ) as unknown as readonly [Limiter, Limiter];
    other.consume("key", 2);
    consumeAll([{ limiter: one, key: "key" }, { limiter: other, key: "key" }]);
    assert.deepEqual([one, other].map((api) => api.peek("key", 0).remaining), [5, 2]);
  });

  test("answers the same alone and with others, for keys of any characters", () => {
    const store = memoryStore();
    const algorithm = gcra({ limit: 5, period: "1m", burst: 5 });
    const api = limiter(algorithm, { store, prefix: "a:{b}%", clock: () => 0 });
    for (const key of ["plain", "{", "}", "%7B", "a}:{b", ":{}:", "\u{1F40B}"]) {
      api.consume(key, 2);
      assert.equal(consumeAll([{ limiter: api, key }]).remaining, 2);
      assert.equal(api.peek(key, 0).remaining, 2);
      api.reset(key);
      assert.equal(api.peek(key, 0).remaining, 5);
    }
    assert.equal(store.statistics().keys, 0);
  });

  test("two limiters of one policy share their keys, also after both were empty", () => {
    const store = memoryStore();
    const options = { store, prefix: "a", clock: () => 0 };
    const [one, other] = [0, 1].map(() =>
      limiter(gcra({ limit: 5, period: "1m", burst: 5 }), options)
    );
    for (let round = 0; round < 3; round++) {
      one!.consume("key", 2);
      assert.equal(other!.peek("key", 0).remaining, 3);
      other!.consume("key");
      assert.equal(one!.peek("key", 0).remaining, 2);
      one!.reset("key");
    }
  });
});

test("an algorithm that does not know when its keys are fresh stops nobody", () => {
  const base = gcra({ limit: 5, period: "1m", burst: 5 }) as Algorithm;
  for (const resetAfter of [NaN, Infinity, -Infinity, -1, -0]) {
    const lost: Algorithm = {
      ...base,
      id: `lost ${resetAfter}`,
      internals: undefined,
      step(state, now, cost) {
        const [decision, next] = base.step(state, now, cost);
        return [{ ...decision, resetAfter }, next];
      },
    };
    const store = memoryStore({ maxKeys: 3 });
    const now = { value: 1_790_000_000_000 };
    const options = { store, clock: () => now.value };
    const api = limiter(lost, { ...options, prefix: "lost" });
    const sound = limiter(base, { ...options, prefix: "sound" });
    for (let key = 0; key < 50; key++) {
      now.value += 20_000;
      assert.equal(api.consume(`key ${key}`).allowed, true);
      assert.equal(sound.consume(`key ${key}`).allowed, true);
    }
  }
});

test("maxKeys is at most 2^23", () => {
  assert.throws(
    () => memoryStore({ maxKeys: 2 ** 23 + 1 }),
    /maxKeys must be an integer from 1 to 8388608/,
  );
  assert.equal(memoryStore({ maxKeys: 2 ** 23 }).statistics().maxKeys, 8_388_608);
});
