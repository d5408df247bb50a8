/*
 * The cost of each verb on a store that answers at once, beside `consume`: six limiters on it, keys
 * by Zipf's law, so that call sites have seen several algorithms, like in a server. The last rows
 * are receipts, permits, several keys at once, one rule and two rules.
 *
 * The flaw: wall time. On a machine with other work, only the ratios say something.
 */

import {
  all,
  concurrency,
  consumeAll,
  fixedWindow,
  gcra,
  hold,
  leakyBucket,
  type Limiter,
  limiter,
  release,
  reservable,
  reserve,
  settle,
  slidingWindow,
  type SyncStore,
  tokenBucket,
} from "../mod.ts";
import { ruleEngine } from "../adapters/rules/rules.ts";
import { compare, row, type Variant } from "./measure.ts";

const WIDE = { limit: 1_000_000, period: "1m" } as const;
const BUCKET = { ...WIDE, burst: 1_000_000 } as const;

const ALGORITHMS = {
  gcra: gcra(BUCKET),
  fixedWindow: fixedWindow(WIDE),
  slidingWindow: slidingWindow({ ...WIDE, precision: "1s" }),
  all: all(gcra(BUCKET), fixedWindow(WIDE)),
  tokenBucket: tokenBucket({ ...BUCKET, refill: "interval" }),
  leakyBucket: leakyBucket(BUCKET),
} as const;
const VERBS = ["consume", "peek", "refund", "charge"] as const;
/** The open receipts of a key that has some. */
const OPEN = 8;

/** Prints nanoseconds of each verb, and their ratio to those of `consume`. */
export function verbs(
  makeStore: () => SyncStore,
  keys: readonly string[],
  operations: number,
  rounds: number,
): void {
  const store = makeStore();
  const limiters = Object.entries(ALGORITHMS).map(([prefix, algorithm]) =>
    limiter(algorithm, { store, prefix })
  );
  const distinct = [...new Set(keys)];
  for (const each of limiters) for (const key of distinct) each.consume(key);

  console.log("\nVerbs, six limiters, keys by Zipf's law: ns per call, and times consume");
  console.log(row("", [...VERBS, ...VERBS.slice(1).map((verb) => `${verb} x`)]));
  for (const each of limiters.slice(0, 4)) {
    const variants = VERBS.map((verb) => [verb, calls(keys, (key) => each[verb](key).remaining)]);
    const figures = compare(
      Object.fromEntries(variants) as Record<(typeof VERBS)[number], Variant>,
      operations,
      rounds,
    );
    const ratios = VERBS.slice(1).map((verb) => times(figures[verb], figures.consume));
    console.log(row(each.prefix, [...VERBS.map((verb) => figures[verb]), ...ratios]));
  }
  receipts(makeStore, keys, operations, rounds);
  permits(makeStore, limiters[0]!, keys, operations, rounds);
  several(makeStore, limiters, keys, operations, rounds);
}

/**
 * Calls on reservable keys beside `consume` of the plain algorithm: without open receipts, and with
 * eight of them. Then a reservation that is settled at once, as the only one or as the ninth, or
 * released.
 */
function receipts(
  makeStore: () => SyncStore,
  keys: readonly string[],
  operations: number,
  rounds: number,
): void {
  const store = makeStore();
  const names = ["wrapped", "8 open", "settle", "ninth", "release"];
  console.log(row("Receipts", ["plain", ...names, ...names.map((name) => `${name} x`)]));
  for (const [prefix, algorithm] of Object.entries(ALGORITHMS).slice(0, 4)) {
    const lasting = reservable(algorithm, { within: "1d" });
    const plain = limiter(algorithm, { store, prefix });
    const [wrapped, open, settled, among] = ["wrapped", "open", "settled", "among"].map((name) =>
      limiter(lasting, { store, prefix: `${prefix}-${name}` })
    ) as [Limiter, Limiter, Limiter, Limiter];
    for (const key of new Set(keys)) {
      for (const each of [plain, wrapped, settled]) each.consume(key);
      for (const each of [open, among]) {
        for (let receipt = 0; receipt < OPEN; receipt++) reserve(each, key);
      }
    }
    const taken = (on: Limiter, key: string) => reserve(on, key, 10).receipt!;
    const { consume, ...others } = compare(
      {
        consume: calls(keys, (key) => plain.consume(key).remaining),
        wrapped: calls(keys, (key) => wrapped.consume(key).remaining),
        open: calls(keys, (key) => open.consume(key).remaining),
        settled: calls(keys, (key) => settle(settled, key, taken(settled, key), 1).returned),
        among: calls(keys, (key) => settle(among, key, taken(among, key), 1).returned),
        released: calls(keys, (key) => release(settled, key, taken(settled, key)).returned),
      },
      operations,
      rounds,
    );
    const figures = Object.values(others);
    console.log(row(prefix, [consume, ...figures, ...figures.map((each) => times(each, consume))]));
  }
}

/** A permit held and released, beside a unit taken and given back; others of the key are held already. */
function permits(
  makeStore: () => SyncStore,
  plain: Limiter,
  keys: readonly string[],
  operations: number,
  rounds: number,
): void {
  const jobs = limiter(concurrency({ limit: 101, ttl: "1h" }), {
    store: makeStore(),
    prefix: "jobs",
  });
  const names = ["none", "ten", "hundred"];
  const held = [0, 10, 100].flatMap((count, at) =>
    Array.from({ length: count }, () => hold(jobs, names[at]!).permit!)
  );
  const cycle = (key: string) => {
    const { decision, permit } = hold(jobs, key);
    permit?.release();
    return decision.remaining;
  };
  const figures = compare(
    {
      unit: calls(keys, (key) => plain.consume(key).remaining + plain.refund(key).remaining),
      none: calls(["none"], cycle),
      ten: calls(["ten"], cycle),
      hundred: calls(["hundred"], cycle),
    },
    Math.ceil(operations / 4),
    rounds,
  );
  for (const permit of held) permit.release();
  const { unit, none, ten, hundred } = figures;
  console.log(row("", ["0 held", "10 held", "100 held", "times", "times", "times"]));
  const ratios = [none, ten, hundred].map((figure) => times(figure, unit));
  console.log(row("hold and release, beside consume and refund", [none, ten, hundred, ...ratios]));
}

/** Several keys at once beside as many calls, and rules beside one call. */
function several(
  makeStore: () => SyncStore,
  limiters: readonly Limiter[],
  keys: readonly string[],
  operations: number,
  rounds: number,
): void {
  const [one, other] = limiters as [Limiter, Limiter];
  const figures = compare(
    {
      one: calls(keys, (key) => one.consume(key).remaining),
      both: calls(keys, (key) => one.consume(key).remaining + other.consume(key).remaining),
      together: calls(
        keys,
        (key) => consumeAll([{ limiter: one, key }, { limiter: other, key }]).remaining,
      ),
      rule: calls(keys, ruled(makeStore, 1)),
      rules: calls(keys, ruled(makeStore, 2)),
    },
    operations,
    rounds,
  );
  const { one: single, both, together, rule, rules } = figures;
  console.log(row("", ["ns", "times"]));
  console.log(row("consumeAll of two, beside two calls", [together, times(together, both)]));
  console.log(row("one rule, beside one call", [rule, times(rule, single)]));
  console.log(row("two rules, beside one call", [rules, times(rules, single)]));
}

/** A request that so many rules hold for. */
function ruled(makeStore: () => SyncStore, count: number): (key: string) => number {
  const entries = ["user", "address"].slice(0, count);
  const rules = { domain: "bench", rules: entries.map((key) => ({ key, limits: [BUCKET] })) };
  const engine = ruleEngine({ rules, store: makeStore() });
  return (value) => {
    const descriptors = entries.map((name) => ({ entries: [[name, value] as const] }));
    const verdict = engine.consume({ domain: "bench", descriptors });
    return Number((verdict as { readonly allowed: boolean }).allowed);
  };
}

function calls(keys: readonly string[], call: (key: string) => number): Variant {
  let index = 0;
  return (operations) => {
    let sum = 0;
    for (let i = 0; i < operations; i++) {
      sum += call(keys[index]!);
      if (++index === keys.length) index = 0;
    }
    return sum;
  };
}

function times(figure: number, base: number): string {
  return `${(figure / base).toFixed(2)}x`;
}
