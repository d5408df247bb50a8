import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { algorithms, blockLaws } from "../../../adapters/testing/testing.ts";
import { carryOver } from "../../../core/carry_over.ts";
import { block as blockVerb } from "../../../core/verbs/block.ts";
import {
  acquire,
  type Algorithm,
  all,
  block,
  blockable,
  concurrency,
  fixedWindow,
  gcra,
  limiter,
  lockout,
  memoryStore,
  slidingLog,
  unblock,
} from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const HOUR = 3_600_000;
const rate = gcra({ limit: 3, period: "3s", burst: 3 });

for (const law of blockLaws(algorithms())) {
  test(`blockable: ${law.name}`, () => law.run(fcOptions({ numRuns: 40 })));
}

describe("blockable", () => {
  test("leaves the states and the text of keys that are not blocked as they are", () => {
    const made = blockable(rate);
    const [, state] = made.step(made.initial, 1_000, 2);
    assert.equal(state, rate.step(rate.initial, 1_000, 2)[1]);
    assert.equal(made.codec.encode(state), "t1 3000");
    assert.equal(blockable(made), made);
  });

  test("of an all makes its first part blockable, which refuses for all", () => {
    const both = blockable(all(rate, fixedWindow({ limit: 9, period: "1m" })));
    const api = limiter(both, { clock: () => 0 });
    api.consume("ada");
    const left = block(api, "ada", "1h");
    assert.deepEqual(left.parts?.map(({ remaining }) => remaining), [0, 8]);
    assert.equal(left.limit, 3);
    assert.deepEqual(api.consume("ada").parts?.map(({ allowed }) => allowed), [false, true]);
    assert.equal(unblock(api, "ada").remaining, 2);
    assert.equal(unblock(api, "eve").remaining, 3);
  });

  test("covers a lock: the rest of the lock counts once the block is taken back", () => {
    let now = 0;
    const logins = limiter(blockable(lockout({ limit: 1, period: "1m", lock: "2h" })), {
      clock: () => now,
    });
    logins.consume("ada");
    assert.equal(block(logins, "ada", "1h").nextAfter, 2 * HOUR);
    now = 1_000;
    assert.equal(unblock(logins, "ada").nextAfter, 2 * HOUR - 1_000);
    logins.reset("ada");
    assert.equal(logins.consume("ada").allowed, true);
  });

  test("leaves the state of the algorithm alone once the block is over, to the millisecond", () => {
    const made = blockable(rate) as Algorithm;
    const blocked = blockVerb.on(made).next(made.initial, 0, 100);
    assert.equal(made.step(blocked, 99, 1)[1], blocked);
    assert.equal(made.step(blocked, 100, 1)[1], rate.step(rate.initial, 100, 1)[1]);
    // A refusal writes nothing; what gives units back clears a key that is as good as new.
    assert.equal(made.step(blocked, 100, 4)[1], blocked);
    assert.equal(made.step(blocked, 100, -1)[1], made.initial);
    assert.equal(made.step(blocked, 99, -1)[1], blocked);
  });

  test("says when its use is over, which may outlast the block", () => {
    const api = limiter(blockable(rate), { clock: () => 0 });
    api.consume("ada", 3);
    assert.equal(block(api, "ada", 100).resetAfter, 3_000);
    assert.equal(block(api, "ada", 5_000).resetAfter, 5_000);
  });

  test("renews a permit that its holder has asked for before the block", () => {
    const { internals, initial } = blockable(concurrency({ limit: 2, ttl: 10 })) as Algorithm;
    const { hold, holds } = internals!.permits!;
    const blocked = internals!.blocks!.block(hold(initial, 0, 1, 7), 100);
    const renewed = hold(blocked, 5, 1, 7);
    assert.equal(hold(renewed, 5, 1, 8), renewed);
    assert.deepEqual([14, 15].map((now) => holds(renewed, now, 7)), [true, false]);
  });

  test("counts the block of a key among the bytes of its store", () => {
    const store = memoryStore();
    const api = limiter(blockable(slidingLog({ limit: 99, period: "1h" })), { store, prefix: "a" });
    api.consume("ada", 3);
    const { bytes } = store.statistics();
    block(api, "ada", "1m");
    assert.ok(store.statistics().bytes > bytes);
    unblock(api, "ada");
    assert.equal(store.statistics().bytes, bytes);
  });

  test("ends no block after the last instant", () => {
    const made = blockable(rate);
    const state = blockVerb.on(made as never).next(made.initial, 2 ** 42 - 5, 100);
    assert.equal(made.step(state as never, 2 ** 42, 1)[0].allowed, true);
  });

  test("text that no step leaves reads as undefined", () => {
    const { codec } = blockable(rate);
    const bad = [
      "b1",
      "b1 5",
      "b1 0 t1 5",
      "b1 05 t1 5",
      "b1 5 t9",
      "b1 5  t1 5",
      `b1 ${2 ** 43} t1 5`,
    ];
    for (const text of bad) assert.equal(codec.decode(text), undefined, text);
  });

  test("a block outlives a change of the limit, as far as the new limit can be blocked", () => {
    const wide = blockable(gcra({ limit: 30, period: "3s", burst: 30 }));
    const made = blockable(rate);
    const [, used] = made.step(made.initial, 0, 2);
    const blocked = blockVerb.on(made as never).next(used, 0, HOUR);
    const carried = carryOver(made as never, blocked, wide as never, "keep", 0);
    assert.deepEqual(carried, { blockedUntil: HOUR, covered: 200 });
    assert.equal(carryOver(made as never, blocked, rate as never, "keep", 0), 2_000);
    assert.equal(carryOver(rate as never, 2_000, wide as never, "keep", 0), 200);
    const over = blockVerb.on(made as never).next(used, 0, 5);
    assert.equal(carryOver(made as never, over, wide as never, "keep", 10), 210);
  });
});

describe("block and unblock", () => {
  test("check their arguments, and require an algorithm that can be blocked", () => {
    const plain = limiter(rate);
    assert.throws(() => block(plain as never, "ada", "1h"), {
      name: "TypeError",
      message:
        'Cannot block a key as the algorithm must be blockable(...): current value is "gcra/3/3000"',
    });
    assert.throws(() => unblock(plain as never, "ada"), TypeError);
    const api = limiter(blockable(rate));
    assert.throws(() => block(api, "", "1h"), TypeError);
    assert.throws(() => unblock(api, 5 as never), TypeError);
    for (const bad of [0, -1, 1.5, NaN, 2 ** 43, "1y"] as never[]) {
      assert.throws(() => block(api, "ada", bad), RangeError);
    }
    assert.throws(() => block(api, "ada", "1h", { reason: "x".repeat(201) }), RangeError);
    assert.throws(() => block(api, "ada", "1h", { why: "abuse" } as never), TypeError);
    assert.throws(() => blockable({} as never), TypeError);
    assert.equal(api.peek("ada").allowed, true);
  });

  test("tell onBlock, whose failures go to onFailure", () => {
    const notes: unknown[] = [];
    const failures: unknown[] = [];
    const api = limiter(blockable(rate), {
      clock: () => 0,
      onBlock(decision, key, note) {
        notes.push([decision.remaining, key, note.duration, note.reason]);
        throw new Error("the log is full");
      },
      onFailure: (error, key) => failures.push([String(error), key]),
    });
    block(api, "ada", "1m", { reason: "stolen card" });
    unblock(api, "ada");
    assert.deepEqual(notes, [[0, "ada", 60_000, "stolen card"], [3, "ada", 0, undefined]]);
    assert.deepEqual(failures, Array(2).fill(["Error: the log is full", "ada"]));
  });

  test("wake the callers that wait for the key", async () => {
    const api = limiter(blockable(rate));
    block(api, "ada", "1h");
    const waiting = acquire(api, "ada", { maxWait: "2h" });
    unblock(api, "ada");
    assert.equal((await waiting).allowed, true);
    block(api, "ada", "1h");
    await assert.rejects(acquire(api, "ada", { maxWait: "1m" }), { name: "RateLimitedError" });
  });
});
