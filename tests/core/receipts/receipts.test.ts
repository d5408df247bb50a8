import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import {
  algorithmLaws,
  algorithms,
  type Subject,
  subjects,
} from "../../../adapters/testing/testing.ts";
import {
  type Algorithm,
  all,
  blockable,
  concurrency,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  type Receipt,
  slidingLog,
  type SyncStore,
} from "../../../mod.ts";
import { reserveFor } from "../../../core/verbs/reserve.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";

const RATE = { limit: 10, period: "1m" } as const;

const BUCKET = { ...RATE, burst: 10 } as const;

function blockableSubjects(): fc.Arbitrary<Subject> {
  return algorithms().map(({ algorithm, grids }) => ({ algorithm: blockable(algorithm), grids }));
}

for (const law of algorithmLaws(blockableSubjects())) {
  if (!/receipt|time to live/.test(law.name)) continue;
  test(`blockable: ${law.name}`, () => law.run(fcOptions({ numRuns: 40 })));
}

test("every algorithm gives units back by receipts, a share and a blockable one as well", () => {
  for (const subject of Object.values(subjects)) {
    fc.assert(
      fc.property(subject(), ({ algorithm }) => {
        for (const each of [algorithm, blockable(algorithm)]) {
          const parts = each.internals?.parts ?? [each];
          for (const { internals, capacity, id } of parts) {
            assert.ok(capacity === 0 || internals?.receipts !== undefined, id);
          }
        }
      }),
      fcOptions({ numRuns: 10 }),
    );
  }
});

describe("a receipt", () => {
  test("of a blocked key gives back what the block covers, and of one that was unblocked", () => {
    for (
      const algorithm of [blockable(gcra(BUCKET)), blockable(all(gcra(BUCKET), slidingLog(RATE)))]
    ) {
      let now = 0;
      const api = limiter(algorithm, { clock: () => now });
      const [first, second, third] = [3, 2, 1].map((cost) => api.reserve("key", cost).receipt!);
      api.block("key", "10s");
      assert.equal(api.release("key", first!).returned, 3);
      assert.equal(api.release("key", first!).outcome, "unknown");
      assert.equal(api.peek("key").allowed, false);
      api.unblock("key");
      assert.equal(api.peek("key", 0).remaining, 7);
      assert.equal(api.settle("key", second!, 1).returned, 1);
      api.block("key", "10s");
      now = 10_000;
      // One unit and two thirds of another have drained of a rate.
      const { returned } = api.release("key", third!);
      assert.equal(returned, algorithm.id.startsWith("gcra") ? 1 / 3 : 1);
    }
  });

  test("is over from the very instant that it names, but for units beyond it", () => {
    let now = 0;
    const api = limiter(slidingLog(RATE), { clock: () => now });
    const [settled, open] = [api.reserve("key", 3).receipt!, api.reserve("key", 2).receipt!];
    api.settle("key", settled, 1);
    now = settled.until;
    assert.equal(api.release("key", settled).outcome, "expired");
    assert.equal(api.release("key", open).outcome, "expired");
    const { outcome, charged } = api.settle("key", open, 6);
    assert.deepEqual([outcome, charged], ["settled", 4]);
  });

  test("has no time to live where its key remembers 64 of them, and the key can be read", () => {
    const algorithm = gcra({ limit: 100, period: "1m", burst: 100 });
    let held: unknown = algorithm.initial;
    const { next, answer } = reserveFor.on(algorithm);
    for (let id = 1; id <= 65; id++) {
      const call = { id, cost: 1, ttl: 1_000 };
      const state = next(held, 0, call);
      assert.equal(answer(held, state, 0, call).mark?.expires, id <= 64);
      held = state;
      const text = algorithm.codec.encode(held as never);
      assert.equal(algorithm.codec.encode(algorithm.codec.decode(text)!), text);
    }
  });

  test("with a time to live is unknown after its key was reset", () => {
    const api = limiter(gcra(BUCKET), { clock: () => 0 });
    const { receipt } = api.reserve("key", 5, { ttl: "1h" });
    api.reset("key");
    api.consume("key", 5);
    const { outcome, returned } = api.release("key", receipt!);
    assert.deepEqual([outcome, returned], ["unknown", 0]);
  });

  test("with a time to live gives its units back under a block, and the block says so", () => {
    let now = 0;
    const api = limiter(blockable(gcra({ limit: 10, period: "1d", burst: 10 })), {
      clock: () => now,
    });
    const { receipt } = api.reserve("key", 10, { ttl: "1m" });
    assert.equal(receipt!.expires, true);
    assert.equal(api.block("key", "10s").nextAfter, 60_000);
    now = 60_000;
    assert.equal(api.peek("key", 0).remaining, 10);
    assert.equal(api.settle("key", receipt!, 3).outcome, "expired");
  });

  test("leaves an all that remembers it to be blocked and unblocked", () => {
    const algorithm = blockable(all(gcra(BUCKET), slidingLog(RATE)));
    const api = limiter(algorithm, { clock: () => 0 });
    const { receipt } = api.reserve("key", 4, { ttl: "1m" });
    api.block("key", "10s");
    assert.equal(api.consume("key").allowed, false);
    assert.equal(api.unblock("key").remaining, 6);
    assert.equal(api.release("key", receipt!).returned, 4);
  });

  test("is for units, and permits do not count as units", () => {
    for (const algorithm of permits()) {
      const jobs = limiter(algorithm);
      assert.throws(() => jobs.reserve("key"), /^TypeError: Cannot reserve as .* call hold/);
    }
  });

  test("with an id of 0, which no key remembers, is not a receipt", () => {
    const api = limiter(gcra(BUCKET));
    const { receipt } = api.reserve("key");
    assert.throws(() => api.release("key", { ...receipt!, id: 0 }), /^TypeError: Cannot release/);
  });
});

function permits(): Algorithm[] {
  const jobs = concurrency({ limit: 2, ttl: "1m" }) as Algorithm;
  return [jobs, all(jobs, gcra(BUCKET))];
}

/** Fills a store with keys that are soon fresh, so that it drops every key that may go. */
function press(store: SyncStore, clock: () => number, pass: () => void): void {
  const others = limiter(gcra({ limit: 1_000, period: "1s", burst: 1_000 }), {
    store,
    prefix: "others",
    clock,
  });
  for (let key = 0; key < 100; key++) {
    others.consume(`other ${key}`);
    pass();
  }
}

describe("a store that is full", () => {
  const stores: Readonly<Record<string, () => SyncStore>> = {
    memory: () => memoryStore({ maxKeys: 6, onFull: "throw" }),
    shared: () => sharedStore({ capacity: 6, onFull: "throw" }),
  };
  for (const [name, make] of Object.entries(stores)) {
    test(`keeps a key that is fresh as long as its receipts may be settled again: ${name}`, () => {
      let now = 1_000_000;
      const store = make();
      const api: Limiter = limiter(gcra(BUCKET), { store, prefix: "api", clock: () => now });
      const [one, other] = [4, 4].map((cost) => api.reserve("key", cost).receipt!) as [
        Receipt,
        Receipt,
      ];
      assert.equal(api.release("key", one).returned, 4);
      assert.equal(api.release("key", other).returned, 4);
      assert.equal(api.peek("key", 0).resetAfter, 0);
      press(store, () => now, () => now += 10);
      assert.equal(api.consume("key", 8).allowed, true);
      for (const receipt of [one, other]) {
        const { outcome, returned } = api.release("key", receipt);
        assert.deepEqual([outcome, returned], ["unknown", 0]);
      }
      assert.equal(api.peek("key", 0).remaining, 2);
      now += 60_000;
      press(store, () => now, () => now += 10);
    });
  }
});
