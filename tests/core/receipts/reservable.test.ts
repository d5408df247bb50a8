import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  type Algorithm,
  all,
  block,
  blockable,
  calendarWindow,
  concurrency,
  dump,
  fixedWindow,
  gcra,
  type Limiter,
  limiter,
  lockout,
  memoryStore,
  type Receipt,
  release,
  reservable,
  reserve,
  settle,
  slidingCounter,
  slidingLog,
  slidingWindow,
  type SyncStore,
  tokenBucket,
  unblock,
} from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";

const RATE = { limit: 60, period: "1m", burst: 60 } as const;
const DAY = { limit: 100, period: "1d", burst: 100 } as const;
const START = 86_400_000 * 20_000 + 5_000;

/** An algorithm of each kind: windows, logs, counters, rates, lockouts. */
const KINDS: Readonly<Record<string, Algorithm>> = {
  fixedWindow: fixedWindow({ limit: 100, period: "1d" }),
  first: fixedWindow({ limit: 100, period: "1d", anchor: "first" }),
  calendarWindow: calendarWindow({ limit: 100, every: "month", zone: "UTC" }),
  slidingCounter: slidingCounter({ limit: 100, period: "1d" }),
  slidingWindow: slidingWindow({ limit: 100, period: "1d", precision: "1h" }),
  slidingLog: slidingLog({ limit: 100, period: "1d" }),
  gcra: gcra(DAY),
  interval: tokenBucket({ ...DAY, refill: "interval" }),
  lockout: lockout({ limit: 100, period: "1d", lock: "1d" }),
  growing: lockout({ limit: 100, period: "1d", lock: ["1d", "2d"], forget: "7d" }),
  all: all(gcra(DAY), slidingLog({ limit: 100, period: "1d" })),
};

function take(api: Limiter, cost: number): Receipt {
  const { receipt } = reserve(api, "k", cost);
  assert.ok(receipt !== undefined);
  return JSON.parse(JSON.stringify(receipt)) as Receipt;
}

describe("receipts of one instant", () => {
  for (const make of [() => gcra(RATE), () => fixedWindow({ limit: 60, period: "1m" })]) {
    test(`of ${make().id} give back all, the later one first`, () => {
      const api = limiter(reservable(make()), { clock: () => 1_000_000 });
      const [one, two] = [take(api, 10), take(api, 10)];
      api.consume("k", 5);
      assert.equal(release(api, "k", two).returned, 10);
      assert.equal(release(api, "k", one).returned, 10);
      assert.equal(api.peek("k", 0).remaining, 55);
    });
  }
});

describe("a retry", () => {
  for (const [name, algorithm] of Object.entries(KINDS)) {
    test(`settles nothing on ${name}, however many settlements came in between`, () => {
      let now = START;
      const api = limiter(reservable(algorithm), { clock: () => now });
      const slow = Array.from({ length: 16 }, () => take(api, 1));
      now += 2_000;
      for (const receipt of slow) assert.equal(settle(api, "k", receipt, 1).outcome, "settled");
      api.consume("k", 40);
      const [one, two] = [take(api, 10), take(api, 10)];
      assert.equal(release(api, "k", one).returned, 10);
      assert.equal(release(api, "k", two).returned, 10);
      const before = api.peek("k", 0);
      for (const receipt of [one, two, ...slow]) {
        const again = settle(api, "k", receipt, 50);
        assert.deepEqual([again.outcome, again.returned, again.charged], ["unknown", 0, 0]);
      }
      assert.deepEqual(api.peek("k", 0), before);
      assert.equal(before.remaining, 44);
    });
  }

  test("settles nothing, although the first settlement could give nothing back", () => {
    let now = 0;
    const guesses = reservable(lockout({ limit: 10, period: "1m", lock: "1h" }), { within: "2h" });
    const api = limiter(guesses, { clock: () => now });
    const receipt = take(api, 2);
    now = 60_000;
    assert.equal(release(api, "k", receipt).outcome, "settled");
    const again = settle(api, "k", receipt, 7);
    assert.deepEqual([again.outcome, again.charged], ["unknown", 0]);
  });
});

test("a key whose receipts are settled holds the plain state, to the letter", () => {
  for (const [name, algorithm] of Object.entries(KINDS)) {
    let now = START;
    const clock = () => now;
    const [store, other] = [memoryStore(), memoryStore()];
    const api = limiter(reservable(algorithm), { store, prefix: "p", clock });
    const plain = limiter(algorithm, { store: other, prefix: "p", clock });
    const receipts: Receipt[] = [];
    for (let call = 0; call < 16; call++) {
      receipts.push(take(api, 3));
      plain.consume("k", 2);
      now += 10;
    }
    for (const receipt of receipts.toReversed()) settle(api, "k", receipt, 2);
    const textOf = (lines: Iterable<string>) =>
      [...lines].map((line) => line.replaceAll("/reservable", "")).slice(1);
    const [found, wanted] = [textOf(dump(store)), textOf(dump(other))];
    assert.deepEqual(found, wanted, name);
  }
});

describe("what beyond the estimate was used", () => {
  test("is charged, beyond the limit if need be, once", () => {
    const api = limiter(reservable(gcra(RATE)), { clock: () => START });
    const receipt = take(api, 10);
    const { charged, decision } = settle(api, "k", receipt, 80);
    assert.deepEqual([charged, decision.debt], [70, 20]);
    assert.equal(settle(api, "k", receipt, 80).outcome, "unknown");
  });

  test("of an estimate of 0 is charged as well", () => {
    const api = limiter(reservable(gcra(RATE)), { clock: () => START });
    api.consume("k", 60);
    const { decision, receipt } = reserve(api, "k", 0);
    assert.equal(decision.allowed, true);
    assert.equal(settle(api, "k", receipt!, 5).charged, 5);
  });
});

describe("the time to settle", () => {
  test("ends at receipt.until, and the estimate stays charged", () => {
    let now = START;
    const api = limiter(reservable(slidingLog({ limit: 10, period: "1h" }), { within: "1m" }), {
      clock: () => now,
    });
    const [one, two] = [take(api, 3), take(api, 2)];
    assert.equal(one.until, START + 60_000);
    now = one.until - 1;
    assert.equal(release(api, "k", one).returned, 3);
    now = two.until;
    const late = settle(api, "k", two, 9);
    assert.deepEqual([late.outcome, late.charged], ["expired", 0]);
    assert.equal(api.peek("k", 0).remaining, 8);
  });

  test("does not let receipts that nobody settles pile up", () => {
    let now = START;
    const algorithm = reservable(gcra({ limit: 1_000, period: "1s", burst: 1_000 }), {
      within: "1s",
    });
    const store = memoryStore();
    const api = limiter(algorithm, { store, prefix: "p", clock: () => now });
    let longest = 0;
    for (let call = 0; call < 4_000; call++) {
      take(api, 1 + call % 3);
      now += 3;
      longest = Math.max(longest, [...dump(store)].join("").length);
    }
    assert.ok(longest < 9_000, `${longest} letters`);
  });
});

test("a key keeps 256 runs, and the oldest receipts close early", () => {
  const window = reservable(fixedWindow({ limit: 10_000, period: "1d" }));
  const api = limiter(window, { clock: () => START });
  const receipts = Array.from({ length: 700 }, () => take(api, 1));
  // Every second receipt is settled, so that each open one is a run of its own.
  for (let at = 1; at < 700; at += 2) release(api, "k", receipts[at]!);
  const outcomes = receipts.filter((_, at) => at % 2 === 0)
    .map((receipt) => release(api, "k", receipt).outcome);
  assert.equal(outcomes.filter((outcome) => outcome === "settled").length, 256);
  assert.equal(outcomes.lastIndexOf("unknown") < outcomes.indexOf("settled"), true);
});

describe("reservable", () => {
  test("stands outermost in all and around blockable", () => {
    const [a, b] = [gcra(RATE), fixedWindow({ limit: 5, period: "1s" })];
    assert.equal(all(reservable(a), b).id, reservable(all(a, b)).id);
    assert.equal(all(a, reservable(b, { within: "1h" })).id, reservable(all(a, b)).id);
    assert.equal(blockable(reservable(a)).id, reservable(blockable(a)).id);
    const longest = all(reservable(a, { within: "1h" }), reservable(b, { within: "2h" }));
    assert.equal(longest.internals?.wraps?.lasts, 7_200_000);
  });

  test("settles under a block, and a block stays", () => {
    const api = limiter(reservable(blockable(gcra(RATE))), { clock: () => START });
    const receipt = take(api, 10);
    block(api, "k", "10s");
    assert.equal(release(api, "k", receipt).returned, 10);
    assert.equal(api.peek("k").allowed, false);
    unblock(api, "k");
    assert.equal(api.peek("k", 0).remaining, 60);
  });

  test("works with a limit of 0, which refuses everything", () => {
    const api = limiter(reservable(gcra({ limit: 0, period: "1m", burst: 1 })));
    assert.equal(reserve(api, "k").receipt, undefined);
  });

  test("refuses what cannot be settled, and says what to write", () => {
    const text = (call: () => unknown) => {
      try {
        call();
      } catch (error) {
        assert.ok(error instanceof TypeError, String(error));
        return error.message;
      }
      return assert.fail("it did not throw");
    };
    const plain = limiter(gcra(RATE));
    const api = limiter(reservable(gcra(RATE)));
    const receipt = take(api, 1);
    assert.match(text(() => reserve(plain, "k")), /reserve .* must be reservable\(\.\.\.\)/);
    assert.match(text(() => settle(plain, "k", receipt, 0)), /settle .* must be reservable/);
    assert.match(text(() => api.refund("k")), /refund .* must go back by settle or release/);
    assert.match(text(() => release(api, "k", {} as Receipt)), /receipt must come from reserve/);
    assert.match(text(() => reserve({} as never, "k")), /needs a limiter/);
    const permits = concurrency({ limit: 1, ttl: "1m" });
    assert.match(text(() => reservable(permits)), /able to give units back/);
    assert.match(text(() => reservable(all(permits, gcra(RATE)))), /able to give units back/);
  });
});

describe("a receipt of somewhere else is unknown", () => {
  const stores: Readonly<Record<string, () => SyncStore>> = {
    memory: () => memoryStore(),
    shared: () => sharedStore({ capacity: 8 }),
  };
  for (const [name, make] of Object.entries(stores)) {
    test(`${name}: another key, prefix, store, or a key that was reset`, () => {
      const [store, other] = [make(), make()];
      const on = (store: SyncStore, prefix: string) =>
        limiter(reservable(gcra(RATE)), { store, prefix, clock: () => START }) as Limiter;
      const api = on(store, "a");
      const receipt = take(api, 5);
      for (const each of [on(store, "b"), on(other, "a")]) {
        const own = take(each, 5);
        assert.equal(own.number, receipt.number);
        assert.equal(release(each, "k", receipt).outcome, "unknown");
      }
      reserve(api, "other", 5);
      assert.equal(release(api, "other", { ...receipt, key: "other" }).outcome, "unknown");
      api.reset("k");
      take(api, 5);
      assert.equal(release(api, "k", receipt).outcome, "unknown");
      assert.equal(api.peek("k", 0).remaining, 55);
    });
  }
});

test("onDecision hears what a settlement gave back and charged", () => {
  const heard: number[] = [];
  const api = limiter(reservable(gcra(RATE)), {
    clock: () => START,
    onDecision: (_decision, _key, cost) => heard.push(cost),
  });
  settle(api, "k", take(api, 10), 4);
  settle(api, "k", take(api, 10), 13);
  assert.deepEqual(heard, [10, -6, 10, 3]);
});

test("receipts go over to a changed rate, with lags in units of the new one", () => {
  const clock = () => START;
  const store = memoryStore();
  const before = reservable(gcra({ limit: 100, period: "1h", burst: 50 }));
  const old = limiter(before, { store, clock, prefix: "m" });
  const [one, two] = [take(old, 20), take(old, 10)];
  const api = limiter(reservable(gcra({ limit: 200, period: "1h", burst: 60 })), {
    store,
    clock,
    prefix: "m",
    replaces: { algorithm: before, mode: "keep" },
  });
  assert.equal(api.peek("k", 0).remaining, 30);
  const [last, first] = [release(api, "k", two), settle(api, "k", one, 5)];
  assert.deepEqual([last.outcome, last.returned], ["settled", 10]);
  assert.deepEqual([first.outcome, first.returned], ["settled", 15]);
  assert.equal(api.peek("k", 0).remaining, 55);
  assert.equal(release(api, "k", two).outcome, "unknown");
});
