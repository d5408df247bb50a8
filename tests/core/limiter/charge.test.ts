import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import {
  acquire,
  type Algorithm,
  consumeAll,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  limiter,
  memoryStore,
  slidingCounter,
  slidingLog,
  tokenBucket,
} from "../../../mod.ts";

/** The fields of a decision that describe a balance. */
function balanceOf({ remaining, debt, nextAfter, resetAfter }: Decision): readonly number[] {
  return [remaining, debt, nextAfter, resetAfter];
}

describe("a charge", () => {
  test("takes the tokens of an answer, and nothing is admitted until the debt has drained", () => {
    const clock = virtualClock(1_000_000);
    const decisions: string[] = [];
    const tokens = limiter(gcra({ limit: 60_000, period: "1m", burst: 60_000 }), {
      clock,
      onDecision: ({ debt }, key, cost) => decisions.push(`${key} ${cost} ${debt}`),
    });
    assert.equal(tokens.consume("team", 500).allowed, true);
    assert.deepEqual(balanceOf(tokens.charge("team", 79_500)), [0, 20_000, 20_001, 80_000]);
    assert.deepEqual(balanceOf(tokens.peek("team", 0)), [0, 20_000, 20_001, 80_000]);
    const refused = tokens.consume("team", 100);
    assert.deepEqual([refused.allowed, refused.debt, refused.retryAfter], [false, 20_000, 20_100]);
    clock.set(clock() + 20_099);
    assert.equal(tokens.consume("team", 100).allowed, false);
    clock.set(clock() + 1);
    assert.equal(tokens.consume("team", 100).allowed, true);
    assert.deepEqual(decisions.slice(0, 2), ["team 500 0", "team 79500 20000"]);
  });

  test("is of one unit by default", () => {
    const hits = limiter(slidingLog({ limit: 2, period: "1m" }), { clock: virtualClock(0) });
    assert.equal(hits.charge("a").remaining, 1);
  });

  test("makes a waiting caller wait until the debt has drained", async () => {
    const clock = virtualClock(0);
    const calls = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), { clock });
    calls.consume("a");
    let served: number | undefined;
    const waiting = acquire(calls, "a").then(() => served = clock());
    await clock.pass(500);
    calls.charge("a", 3);
    await clock.pass(3_499);
    assert.equal(served, undefined);
    await clock.pass(1);
    await waiting;
    assert.equal(served, 4_000);
  });

  for (const [mode, left] of [["keep", 5], ["proportional", -10]] as const) {
    test(`that a key owes is owed under changed options, too: ${mode}`, () => {
      const options = { store: memoryStore(), prefix: "api", clock: virtualClock(0) };
      const older = fixedWindow({ limit: 10, period: "30m" });
      limiter(older, options).charge("a", 15);
      const newer = fixedWindow({ limit: 20, period: "1h" });
      const changed = limiter(newer, { ...options, replaces: { algorithm: older, mode } });
      const look = changed.peek("a", 0);
      assert.equal(look.remaining - look.debt, left);
    });
  }

  test("stands beside calls in consumeAll, and is none where another entry is refused", () => {
    const options = { store: memoryStore(), clock: virtualClock(0) };
    const calls = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), {
      ...options,
      prefix: "calls",
    });
    const tokens = limiter(gcra({ limit: 10, period: "1s", burst: 10 }), {
      ...options,
      prefix: "tokens",
    });
    const entries = [
      { limiter: calls, key: "a" },
      { limiter: tokens, key: "a", cost: 25, charge: true },
    ];
    const first = consumeAll(entries);
    assert.deepEqual([first.allowed, first.debt, first.parts?.[1]?.debt], [true, 15, 15]);
    const second = consumeAll(entries);
    assert.deepEqual([second.allowed, second.parts?.[1]?.debt], [false, 15]);
    assert.equal(tokens.peek("a", 0).debt, 15);
  });
});

/** The most that each may owe, as docs/algorithms.md states it. */
const bounds: readonly (readonly [Algorithm, number])[] = [
  [gcra({ limit: 100, period: "1m", burst: 20 }) as Algorithm, 1_000_000_000 - 20],
  [gcra({ limit: 1, period: "1d", burst: 1 }) as Algorithm, Math.floor(2 ** 52 / 86_400_000) - 1],
  [
    gcra({ limit: 14, period: 884_090, burst: 40 }) as Algorithm,
    1_000_000_000 - 40,
  ],
  [leakyBucket({ limit: 1, period: "1s", burst: 1 }) as Algorithm, 1_000_000_000 - 1],
  [leakyQueue({ limit: 10, period: "1s", queue: 4 }) as Algorithm, 1_000_000_000 - 5],
  [
    tokenBucket({ limit: 5, period: "1d", burst: 10, refill: "interval" }) as Algorithm,
    Math.floor(2 ** 52 / 86_400_000) * 5 - 10,
  ],
  [fixedWindow({ limit: 10, period: "1d" }) as Algorithm, 1_000_000_000 - 10],
  [fixedWindow({ limit: 10, period: "1s", anchor: "first" }) as Algorithm, 1_000_000_000 - 10],
  [slidingLog({ limit: 7, period: "1m" }) as Algorithm, 1_000_000_000 - 7],
  [slidingCounter({ limit: 7, period: "1d" }) as Algorithm, Math.floor(2 ** 53 / 86_400_000) - 7],
];

describe("debt is cut", () => {
  for (const [algorithm, most] of bounds) {
    test(`of ${algorithm.id}, at ${most}`, () => {
      const { charge, initial, codec } = algorithm;
      const [decision, state] = charge(initial, 1_700_000_000_000, Number.MAX_SAFE_INTEGER);
      assert.equal(decision.debt, most);
      assert.equal(charge(state, 1_700_000_000_000, 1)[1], state);
      assert.equal(codec.encode(codec.decode(codec.encode(state))), codec.encode(state));
    });
  }

  test("and text that owes more is a state of another limit, as far as it is exact", () => {
    const exact = 2 ** 53 - 1;
    const window = fixedWindow({ limit: 10, period: "1d" });
    const log = slidingLog({ limit: 10, period: "1d" });
    for (const [{ codec }, head] of [[window, "f1 5"], [log, "w1 5"]] as const) {
      assert.notEqual(codec.decode(`${head} ${exact}`), undefined);
      assert.equal(codec.decode(`${head} ${exact + 1}`), undefined);
    }
    const { codec } = slidingCounter({ limit: 10, period: "1h" });
    assert.notEqual(codec.decode("c1 5 10 2501999792"), undefined);
    assert.equal(codec.decode("c1 5 10 2501999793"), undefined);
  });
});

describe("a log in debt", () => {
  const log = slidingLog({ limit: 3, period: 1_000 });

  /** A log with a charge of one unit in each of that many milliseconds. */
  function chargedFor(milliseconds: number): typeof log.initial {
    let state = log.initial;
    for (let now = 0; now < milliseconds; now++) [, state] = log.charge(state, now, 1);
    return state;
  }

  test("keeps 16 milliseconds more than its limit, and no more", () => {
    assert.equal(log.codec.encode(chargedFor(19)).split(" ").length, 3 + 18);
    const text = log.codec.encode(chargedFor(500));
    assert.equal(text, `w1 499 482${" 482"}${" 1".repeat(17)}`);
  });

  test("owes all of it, and for as long as the last of it is in the window", () => {
    const state = chargedFor(500);
    const [look] = log.step(state, 500, 0);
    assert.deepEqual([look.debt, look.nextAfter], [497, 999]);
    assert.equal(log.step(state, 1_498, 1)[0].allowed, false);
    assert.equal(log.step(state, 1_499, 3)[0].allowed, true);
  });
});
