import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";

import type { Period } from "../../../../core/options/period.ts";
import type { Verdict } from "../../../../core/rules/rules.ts";
import type { AsyncStore, SyncStore } from "../../../../core/store.ts";
import { gcra } from "../../../../core/algorithms/gcra.ts";
import { slidingLog } from "../../../../core/algorithms/sliding_log.ts";
import {
  type KeyLimits,
  readRules,
  ruleEngine,
  type RuleEngineOptions,
  type RuleFile,
  type RuleRequest,
} from "../../../../adapters/rules/rules.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";
import { sharedStore } from "../../../../stores/shared/shared_store.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { wrapStore } from "../../../../core/wrap_store.ts";
import { interceptedStore } from "../../../support/intercepted_store.ts";

type Entry = readonly [string, string];

/** A request of one entry a descriptor. */
function asking(...entries: readonly Entry[]): RuleRequest {
  return { domain: "shop", descriptors: entries.map((entry) => ({ entries: [entry] })) };
}

const USER: Entry = ["user", "42"];
const ADDRESS: Entry = ["address", "192.0.2.7"];

function shop(rules: RuleFile["rules"], more: Partial<RuleFile> = {}): RuleFile {
  return { domain: "shop", rules, ...more };
}

/** An engine at a time of its own; its store answers at once. */
function engineOf(file: RuleFile, options: Partial<RuleEngineOptions> = {}) {
  let now = 1_700_000_000_000;
  const engine = ruleEngine({ rules: file, clock: () => now, ...options });
  return {
    engine,
    consume: (request: RuleRequest) => engine.consume(request) as Verdict,
    peek: (request: RuleRequest) => engine.peek(request) as Verdict,
    advance(milliseconds: number): void {
      now += milliseconds;
    },
    change(to: RuleFile): void {
      const { rules, problems } = readRules([{ name: "test", data: to }], undefined);
      assert.deepEqual(problems, []);
      engine.replace(rules!);
    },
  };
}

/** A rate without more units than its burst. */
const rate = (limit: number, period: Period) => ({ limit, period, burst: limit });
const two = () => [rate(2, "1m")];
/** Rules for users, with these limits. */
const user = (...limits: RuleFile["rules"][number]["limits"] & object) =>
  shop([{ key: "user", limits }]);

describe("a request", () => {
  const file = shop([
    { key: "user", limits: two() },
    { key: "address", limits: [rate(1, "1m")] },
  ]);

  test("to which no rule applies is admitted, in an unknown domain too", () => {
    const { consume } = engineOf(file);
    assert.deepEqual(consume(asking(["plan", "free"])), {
      allowed: true,
      decision: undefined,
      rules: [],
    });
    assert.equal(consume({ ...asking(USER), domain: "other" }).allowed, true);
  });

  test("that is malformed is refused, and nothing is charged", async () => {
    const { engine, consume, peek } = engineOf(file);
    const bad: [RuleRequest, RegExp][] = [
      [{ domain: "shop", descriptors: [] }, /at least one descriptor/],
      [{ domain: "shop", descriptors: [{ entries: [] }] }, /at least one entry/],
      [{ ...asking(USER), cost: -1 }, /cost must be an integer of at least 0/],
      [{ ...asking(USER), cost: 1.5 }, /cost must be an integer/],
      [{ domain: "shop", descriptors: [{ entries: [USER], cost: NaN }] }, /cost/],
    ];
    for (const [request, message] of bad) {
      const name = "MalformedRequestError";
      assert.throws(() => consume(request), { name, message });
      await assert.rejects(engine.reset(request), { name, message });
      const later = ruleEngine({ store: asyncMemoryStore(), rules: file });
      await assert.rejects(async () => await later.consume(request), { name, message });
    }
    assert.equal(peek(asking(USER)).decision?.remaining, 1);
  });

  test("that has one key twice is charged for all of its units, and the lower limit decides", () => {
    const { consume, peek } = engineOf(user(rate(2, "1m")));
    const descriptors = [{ entries: [USER] }, { entries: [USER], limit: gcra(rate(2, "1m")) }];
    assert.equal(consume({ domain: "shop", descriptors }).allowed, true);
    assert.equal(peek({ ...asking(USER), cost: 0 }).decision?.remaining, 0);
    assert.equal(consume({ domain: "shop", descriptors }).allowed, false);
    for (const bursts of [[9, 5], [5, 9]]) {
      const { consume } = engineOf(user(rate(9, "1h")));
      const descriptors = bursts.map((burst) => (
        { entries: [USER], limit: gcra({ limit: 5, period: "1h", burst }) }
      ));
      const isAllowed = (cost: number) => consume({ domain: "shop", descriptors, cost }).allowed;
      assert.deepEqual([3, 2, 1].map(isAllowed), [false, true, false], `${bursts}`);
    }
  });

  test("of more units than numbers hold is refused like one of too many", () => {
    const { engine, consume, peek } = engineOf(user(rate(2, "1m"), rate(3, "1h")));
    const most = Number.MAX_SAFE_INTEGER;
    const request = { ...asking(USER, USER), cost: most };
    const refused = consume(request);
    assert.equal(refused.allowed, false);
    assert.equal(refused.decision?.retryAfter, Infinity);
    engine.refund(request);
    assert.equal(peek({ ...asking(USER), cost: 0 }).decision?.remaining, 2);
  });

  test("of more limits than the store charges at once says so, and is not charged", () => {
    const store = sharedStore({ capacity: 100 });
    const { consume, peek } = engineOf(user(rate(2, "1m"), rate(3, "1h")), { store });
    const users = (count: number) =>
      asking(...Array.from({ length: count }, (_, index): Entry => ["user", `${index}`]));
    assert.equal(consume(users(12)).allowed, true);
    assert.throws(() => consume(users(13)), {
      message:
        "Cannot decide as the rules of a request must have at most 24 limits together on this store: current value is 26",
    });
    assert.equal(peek({ ...asking(["user", "0"]), cost: 0 }).decision?.remaining, 1);
  });

  test("can be given back and forgotten", async () => {
    const { engine, consume, peek } = engineOf(file);
    consume(asking(USER, ADDRESS));
    assert.equal(peek(asking(ADDRESS)).allowed, false);
    engine.refund(asking(USER, ADDRESS));
    assert.equal(peek(asking(ADDRESS)).allowed, true);
    consume({ ...asking(USER), cost: 2 });
    assert.equal(peek(asking(USER)).allowed, false);
    assert.equal(await engine.reset(asking(USER)), 1);
    assert.equal(peek(asking(USER)).decision?.remaining, 1);
  });

  test("is reported to onVerdict, and a peek is not", () => {
    const reported: boolean[] = [];
    const { consume, peek } = engineOf(file, {
      onVerdict: ({ allowed }) => reported.push(allowed),
    });
    consume(asking(ADDRESS));
    consume(asking(ADDRESS));
    peek(asking(ADDRESS));
    assert.deepEqual(reported, [true, false]);
  });
});

describe("a rule", () => {
  test("that is blocked beside quotas takes one call of the store", async () => {
    let calls = 0;
    const store = interceptedStore(asyncMemoryStore(), (_calls, proceed) => {
      calls++;
      return proceed();
    });
    const quotas = ["user", "plan"].map((key) => ({ key, quota: true, limits: two() }));
    const rules = shop([...quotas, { key: "address", blocked: true }]);
    const { engine } = engineOf(rules, { store });
    const { allowed } = await engine.consume(asking(USER, ["plan", "free"], ADDRESS));
    assert.deepEqual([allowed, calls], [false, 1]);
  });

  test("charges no quota if another caller meanwhile takes the units of another rule", () => {
    const store = memoryStore();
    const rules = shop([
      { key: "user", quota: true, limits: two() },
      { key: "address", quota: true, limits: two() },
      { key: "plan", limits: [rate(1, "1m")] },
    ]);
    const plan: Entry = ["plan", "free"];
    const other = engineOf(rules, { store });
    let hasCome = false;
    const racing = interceptedStore(store, (calls, proceed) => {
      // The second call is made without the quota that refused.
      if (calls.length === 2 && !hasCome) {
        hasCome = true;
        assert.equal(other.consume(asking(plan)).allowed, true);
      }
      return proceed();
    });
    other.consume({ ...asking(USER), cost: 2 });
    const { consume } = engineOf(rules, { store: racing });
    assert.equal(consume(asking(USER, ADDRESS, plan)).allowed, false);
    const left = (entry: Entry) => other.peek({ ...asking(entry), cost: 0 }).decision?.remaining;
    assert.deepEqual([hasCome, left(USER), left(ADDRESS)], [true, 0, 2]);
  });

  test("alone in the shadow leaves no decision to enforce", () => {
    const { consume } = engineOf(shop([{ key: "user", shadow: true, limits: two() }]));
    const verdict = consume(asking(USER));
    assert.equal(verdict.decision, undefined);
    assert.equal(verdict.rules[0]?.decision?.remaining, 1);
  });
});

const STORES = {
  "the memory store": memoryStore,
  "the shared store": () => sharedStore({ capacity: 1_000 }),
} as const;

for (const [name, storeOf] of Object.entries(STORES)) {
  describe(`a changed limit on ${name}`, () => changedLimits(storeOf));
}

function changedLimits(storeOf: () => SyncStore): void {
  const open = (file: RuleFile) => engineOf(file, { store: storeOf() });

  const per = (limit: number, changes?: RuleFile["changes"], period: Period = "1m") =>
    shop([{ key: "user", limits: [{ algorithm: "slidingLog", limit, period }] }], { changes });
  const left = (peek: (request: RuleRequest) => Verdict) =>
    peek({ ...asking(USER), cost: 0 }).decision?.remaining;

  /** One thing that happens to a key, and the units left after it. The limit is 10 at first. */
  interface Step {
    readonly use?: number;
    readonly change?: RuleFile;
    readonly wait?: number;
    readonly left: number;
  }
  const cases: readonly (readonly [name: string, ...steps: readonly Step[]])[] = [
    [
      "keeps what a key had used",
      { use: 4, left: 6 },
      { change: per(5), use: 1, left: 0 },
      { change: per(20), left: 15 },
    ],
    [
      "keeps its share under another period where the domain says so",
      { use: 5, left: 5 },
      { change: per(100, "proportional", "2m"), left: 50 },
    ],
    [
      "keeps nothing under another period where the domain says so",
      { use: 5, left: 5 },
      { change: per(100, "reset", "2m"), left: 100 },
    ],
    [
      "and changed back again counts on",
      { use: 4, left: 6 },
      { change: per(20), use: 1, left: 15 },
      {
        change: per(10),
        left: 5,
      },
    ],
    [
      "is a limit like any other once nothing can be left of the old one",
      { use: 10, left: 0 },
      { change: per(5), wait: 120_001, left: 5 },
      { use: 5, left: 0 },
    ],
  ];
  for (const [name, ...steps] of cases) {
    test(name, () => {
      const { consume, peek, change, advance } = open(per(10));
      for (const { use = 0, change: to, wait = 0, left: expected } of steps) {
        if (to !== undefined) change(to);
        advance(wait);
        assert.equal(consume({ ...asking(USER), cost: use }).allowed, true);
        assert.equal(left(peek), expected);
      }
    });
  }

  test("keeps the use from before the last two changes", () => {
    const { consume, peek, change } = open(per(10));
    consume({ ...asking(USER), cost: 4 });
    for (const period of ["2m", "3m", "4m"] as const) change(per(13, "keep", period));
    assert.equal(left(peek), 9);
  });

  test("leaves other rules and their counters alone", () => {
    const { consume, peek, change } = engineOf(
      shop([{ key: "user", limits: two() }, { key: "address", limits: two() }]),
    );
    consume(asking(USER, ADDRESS));
    change(shop([{ key: "address", limits: two() }]));
    assert.equal(peek(asking(ADDRESS)).decision?.remaining, 0);
    assert.deepEqual(peek(asking(USER)).rules, []);
  });

  test("that comes back beside the one in its place has its own counter again", () => {
    const [minute, hour] = [rate(10, "1m"), rate(50, "1h")];
    const { consume, change } = open(user(minute));
    consume({ ...asking(USER), cost: 9 });
    change(user(hour));
    change(user(hour, minute));
    const { decision } = consume(asking(USER)).rules[0]!;
    assert.deepEqual(decision?.parts?.map(({ remaining }) => remaining), [49, 0]);
    assert.equal(consume(asking(USER)).allowed, false);
  });

  test("that takes the place of a moved one takes over nothing that the moved one replaced", () => {
    const [first, second, added] = [rate(10, "1m"), rate(11, "1m"), rate(50, "1h")];
    const { consume, change } = open(user(first));
    consume({ ...asking(USER), cost: 9 });
    change(user(second));
    change(user(added, second));
    const { decision } = consume(asking(USER)).rules[0]!;
    assert.deepEqual(decision?.parts?.map(({ remaining }) => remaining), [49, 1]);
  });

  test("takes use over, even if a limit of the descriptor is unchanged", () => {
    const limit = slidingLog({ limit: 5, period: "1m" });
    const [own, named] = [{ entries: [USER], limit }, { entries: [USER], cost: 0 }];
    for (const descriptors of [[own, named], [named, own]]) {
      const { consume, peek, change } = open(per(10));
      consume({ ...asking(USER), cost: 4 });
      change(per(5));
      assert.equal(consume({ domain: "shop", descriptors }).allowed, true);
      assert.equal(left(peek), 0);
      assert.equal(consume({ domain: "shop", descriptors }).allowed, false);
    }
  });

  test("that moves to another place, with a new one in its own, keeps its counter", () => {
    const [short, minute, hour] = [rate(100, "1s"), rate(10, "1m"), rate(50, "1h")];
    const { consume, peek, change } = open(user(short, minute));
    consume({ ...asking(USER), cost: 9 });
    change(user(minute, hour));
    consume(asking(USER));
    assert.equal(consume(asking(USER)).allowed, false);
    change(user(hour));
    change(user(hour, minute));
    consume(asking(USER));
    assert.equal(consume(asking(USER)).allowed, false, "back again, and still under its own");
    assert.equal(left(peek), 0);
  });
}

describe("limits of a key's own", () => {
  const file = (lookup: "default" | "wait") =>
    shop([{ key: "user", lookup, limits: [rate(1, "1m")] }]);

  /** A source whose answers the test gives by hand. */
  function source() {
    const asked: string[] = [];
    const answers: ((value: KeyLimits) => void)[] = [];
    return {
      asked,
      answers,
      lookup(_domain: string, key: string) {
        asked.push(key);
        return new Promise<KeyLimits>((resolve) => {
          answers.push(resolve);
        });
      },
    };
  }
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

  test("hold once they are known; until then the rule's own decide, and use is kept", async () => {
    const { lookup, asked, answers } = source();
    const { consume, peek } = engineOf(file("default"), { lookup });
    assert.equal(consume(asking(USER)).allowed, true);
    assert.equal(consume(asking(USER)).allowed, false);
    assert.deepEqual(asked, ["user=42"]);
    answers[0]!([rate(5, "1m")]);
    await settled();
    assert.equal(peek({ ...asking(USER), cost: 0 }).decision?.remaining, 4);
    assert.equal(consume(asking(USER)).allowed, true);
    assert.deepEqual(asked, ["user=42"]);
  });

  test("are waited for where the rule says so, and only the first time", async () => {
    const { lookup, answers } = source();
    const { engine } = engineOf(file("wait"), { lookup });
    const first = engine.consume({ ...asking(USER), cost: 3 });
    assert.ok(first instanceof Promise);
    answers[0]!([rate(5, "1m")]);
    assert.equal((await first).decision?.remaining, 2);
    assert.equal(engine.consume(asking(USER)) instanceof Promise, false);
  });

  test("are looked up again when their time is over, and misses are remembered too", async () => {
    const { lookup, asked, answers } = source();
    const { consume, advance } = engineOf(file("default"), {
      lookup,
      lookupCache: { timeToLive: 1_000 },
    });
    consume(asking(USER));
    answers[0]!(undefined);
    await settled();
    advance(999);
    consume(asking(USER));
    assert.equal(asked.length, 1);
    advance(1);
    consume(asking(USER));
    assert.equal(asked.length, 2);
    assert.equal(consume(asking(["user", "43"])).allowed, true);
    assert.deepEqual(asked.slice(2), ["user=43"]);
  });

  test("are forgotten where there are too many, the longest unused first", async () => {
    const asked: string[] = [];
    const lookup = (_domain: string, key: string) => {
      asked.push(key);
      return Promise.resolve(undefined);
    };
    const { consume } = engineOf(file("default"), { lookup, lookupCache: { maxKeys: 2 } });
    const user = (name: string) => consume(asking(["user", name]));
    user("a");
    user("b");
    await settled();
    user("a");
    user("c");
    await settled();
    user("a");
    assert.deepEqual(asked, ["user=a", "user=b", "user=c"]);
    user("b");
    assert.equal(asked.length, 4);
  });

  test("that are looked up again keep their use, and decide until the new limits are known", async () => {
    for (const kind of ["default", "wait"] as const) {
      let own: KeyLimits = [rate(10, "1h")];
      const lookup = () => Promise.resolve(own);
      const { engine } = engineOf(file(kind), { lookup });
      await engine.peek(asking(USER));
      await settled();
      await engine.consume({ ...asking(USER), cost: 10 });
      own = [rate(12, "1h")];
      engine.forgetLookups();
      assert.equal((await engine.peek(asking(USER))).allowed, kind === "wait", kind);
      await settled();
      assert.equal((await engine.peek({ ...asking(USER), cost: 0 })).decision?.remaining, 2, kind);
      own = "blocked";
      engine.forgetLookups();
      await engine.peek(asking(USER));
      await settled();
      engine.forgetLookups();
      assert.equal((await engine.consume(asking(USER))).allowed, false, `${kind}: still blocked`);
    }
  });

  test("that were looked up before a refresh do not hold after it", async () => {
    const { lookup, answers, asked } = source();
    const { engine } = engineOf(file("wait"), { lookup });
    const early = engine.peek({ ...asking(USER), cost: 0 });
    engine.forgetLookups();
    const late = engine.peek({ ...asking(USER), cost: 0 });
    assert.equal(asked.length, 2);
    answers[1]!([rate(7, "1m")]);
    assert.equal((await late).decision?.limit, 7);
    answers[0]!([rate(5, "1m")]);
    assert.equal((await early).decision?.limit, 5);
    assert.equal((await engine.peek(asking(USER))).decision?.limit, 7);
  });

  const five = rate(5, "1m");
  const failing: readonly [name: string, lookup: () => Promise<KeyLimits>, error: RegExp][] = [
    [
      "do not come in time",
      () => new Promise(() => {}),
      /^Cannot wait .* because it took over 20 ms$/,
    ],
    ["are an empty list", () => Promise.resolve([]), /at least one limit: current value is \[\]$/],
    [
      "are the same twice",
      () => Promise.resolve([five, five]),
      /gcra\/5\/60000 is listed twice$/,
    ],
    ["cannot be had", () => Promise.reject(new Error("source is down")), /^source is down$/],
    ["have a source that throws", () => {
      throw new Error("not now");
    }, /^not now$/],
  ];
  for (const [name, lookup, expected] of failing) {
    test(`that ${name} leave the decision to the rule for a second, if the options say so`, async () => {
      const errors: string[] = [];
      const { engine, advance } = engineOf(file("wait"), {
        lookup,
        onLookupError: (error) => errors.push((error as Error).message),
        lookupCache: { deadline: 20, onFailure: "default" },
      });
      assert.equal((await engine.consume(asking(USER))).allowed, true);
      assert.equal((await engine.consume(asking(USER))).allowed, false);
      assert.equal(errors.length, 1);
      assert.match(errors[0]!, expected);
      advance(1_000);
      await engine.peek(asking(USER));
      await settled();
      assert.equal(errors.length, 2);
    });
  }

  test("are not looked up any more once thousands of lookups have no answer", async () => {
    let asked = 0;
    const { engine, advance } = engineOf(file("default"), {
      lookup() {
        asked++;
        return new Promise(() => {});
      },
      lookupCache: { deadline: 1 },
    });
    for (let round = 0; round < 12; round++) {
      for (let user = 0; user < 1_000; user++) engine.peek(asking(["user", `${round} ${user}`]));
      await new Promise((resolve) => setTimeout(resolve, 10));
      advance(10);
    }
    assert.ok(asked <= 10_000, `${asked}`);
  });

  test("that a rule waits for are never skipped, even if the source is busy or away", async () => {
    let isAway = true;
    const { lookup: slow } = source();
    const { engine, advance } = engineOf(file("wait"), {
      lookup(domain: string, key: string) {
        if (key !== "user=blocked") return slow(domain, key);
        return isAway ? Promise.reject(new Error("source is down")) : Promise.resolve("blocked");
      },
    });
    const user = (name: string) => asking(["user", name]);
    const refusal =
      /Cannot decide for user=blocked as its own limits must be known: source is down/;
    await assert.rejects(async () => await engine.consume(user("blocked")), refusal);
    await assert.rejects(async () => await engine.consume(user("blocked")), refusal);
    isAway = false;
    advance(1_000);
    assert.equal((await engine.consume(user("blocked"))).allowed, false);
    for (let flood = 0; flood < 1_000; flood++) {
      void Promise.resolve(engine.peek(user(String(flood)))).catch(() => {});
    }
    assert.equal((await engine.consume(user("blocked"))).allowed, false, "still known");
    await assert.rejects(
      async () => await engine.consume(user("late")),
      /Cannot decide for user=late as its own limits must be known: 1000 keys are being looked up/,
    );
  });

  test("that cannot be looked up for two keys reject once, and leave no rejection unhandled", async () => {
    const unhandled: unknown[] = [];
    const record = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", record);
    const { engine } = engineOf(file("wait"), { lookup: () => Promise.reject(new Error("away")) });
    await assert.rejects(async () => await engine.consume(asking(USER)), /away/);
    const both = asking(["user", "43"], USER);
    await assert.rejects(async () => await engine.consume(both), /away/);
    await settled();
    process.off("unhandledRejection", record);
    assert.deepEqual(unhandled, []);
  });

  test("that are known go on deciding after their source has failed", async () => {
    let own: () => Promise<KeyLimits> = () => Promise.resolve("blocked");
    const { engine } = engineOf(file("wait"), { lookup: () => own() });
    assert.equal((await engine.consume(asking(USER))).allowed, false);
    own = () => Promise.reject(new Error("source is down"));
    engine.forgetLookups();
    assert.equal((await engine.consume(asking(USER))).allowed, false);
    assert.equal((await engine.consume(asking(USER))).allowed, false);
  });
});

/** The memory store, by promises of another realm. */
function foreignStore(): AsyncStore {
  const inner = memoryStore();
  function later<Value>(value: Value): Promise<Value> {
    const promise = Promise.resolve(value);
    const then: typeof promise.then = (...continuations) => promise.then(...continuations);
    return { then } as Promise<Value>;
  }
  return wrapStore(inner, {
    call: ({ call }) => (...request) => later(call(...request)),
    run: (operations, now) => later(inner.run(operations, now)),
    delete: (family, key) => later<void>(family.delete(key) as void),
    close: () => later(inner.close()),
  }) as AsyncStore;
}

for (const [name, store] of [["", asyncMemoryStore()], [" of another realm", foreignStore()]]) {
  test(`on a store that answers by promises${name} every verdict is the same`, async () => {
    const file = shop([
      { key: "user", limits: two() },
      { key: "address", shadow: true, limits: [rate(1, "1m")] },
      { key: "plan", quota: true, limits: two() },
    ]);
    const plan: Entry = ["plan", "free"];
    const later = engineOf(file, { store: store as AsyncStore }).engine;
    const { consume } = engineOf(file);
    for (const entries of [[USER, ADDRESS], [USER, plan], [USER, ADDRESS], [ADDRESS]]) {
      const request = asking(...entries);
      const answer = later.consume(request);
      assert.ok(answer instanceof Promise);
      assert.deepEqual(shown(await answer), shown(consume(request)));
    }
    assert.equal(await later.reset(asking(USER)), 1);
  });
}

function shown({ rules }: Verdict) {
  return rules.map(({ decision, allowed }) => [allowed, decision]);
}
