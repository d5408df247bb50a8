import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { test } from "node:test";

import fc from "fast-check";

import {
  type Algorithm,
  all,
  blockable,
  consumeAll,
  dump,
  gcra,
  type Limiter,
  limiter,
  lockout,
  memoryStore,
  restore,
  slidingLog,
  slidingWindow,
  StoreFullError,
} from "../../../mod.ts";
import {
  EVICTION_LIMIT,
  evictionSubjects,
  guessesAdmitted,
  refusedKeysFreed,
} from "../../support/eviction_law.ts";
import { numbersFrom } from "../../support/numbers_from.ts";
import { runtime } from "../../support/runtime.ts";
import { fcOptions, upTo } from "../../support/seed.ts";
import { rootPath } from "../../support/tree.ts";

const rate = { limit: 100, period: 1_000 };

const bucket = { ...rate, burst: 100 };
const ALGORITHMS: readonly Algorithm[] = [
  gcra(bucket),
  slidingLog(rate),
  slidingWindow({ ...rate, precision: 1 }),
  lockout({ ...rate, lock: 2_000 }),
  all(gcra(bucket), slidingLog(rate)),
  blockable(slidingLog(rate)),
  { ...slidingLog(rate), id: "own", internals: undefined },
];

const VERBS = ["consume", "consume", "consume", "charge", "refund", "reset", "both"] as const;

/** Calls by a seed, of one limiter or of two at once. */
function scheduleOf(seed: number) {
  const random = numbersFrom(seed);
  const oneOf = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  return Array.from({ length: 200 }, () => ({
    key: `${oneOf(...upTo(40))}${oneOf("a", "a", "é", "Ж").repeat(oneOf(1, 1, 10, 300, 2_000))}`,
    index: oneOf(...upTo(ALGORITHMS.length)),
    verb: oneOf(...VERBS),
    cost: oneOf(1, 1, 2, 30),
    pause: oneOf(0, 0, 1, 5, 700),
  }));
}

test("a state that grew counts for as many bytes as one that is read at once", () => {
  for (const algorithm of ALGORITHMS) {
    let now = 0;
    const options = { prefix: "a", clock: () => now };
    const grown = memoryStore();
    const api = limiter(algorithm, { ...options, store: grown });
    for (; now < 10; now++) api.consume("key");
    const read = memoryStore();
    const same = limiter(algorithm, { ...options, store: read });
    restore(read, dump(grown), { now });
    assert.deepEqual(same.peek("key", 0), api.peek("key", 0));
    assert.equal(grown.statistics().bytes, read.statistics().bytes, algorithm.id);
  }
});

for (const onFull of ["evict", "throw"] as const) {
  test(`no calls make a store hold more than maxBytes: ${onFull}`, () => {
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(1_024, 5_000, 20_000), (seed, maxBytes) => {
        let now = 1_000;
        const clock = () => now;
        const store = memoryStore({ maxBytes, onFull });
        const limits = ALGORITHMS.map((algorithm, index) =>
          limiter(algorithm, { store, prefix: `${index}`, clock })
        );
        for (const { key, index, verb, cost, pause } of scheduleOf(seed)) {
          now += pause;
          const own = limits[index]!;
          const other = limits[(index + 1) % limits.length]!;
          const seen = [look(own, key), look(other, key)];
          const before = store.statistics();
          const refused = isFull(() => {
            if (verb === "reset") own.reset(key);
            else if (verb === "both") {
              consumeAll([{ limiter: own, key }, { limiter: other, key }]);
            } else own[verb](key, cost);
          });
          const { bytes, evictions } = store.statistics();
          assert.ok(bytes <= maxBytes, `${bytes} of ${maxBytes} bytes`);
          if (onFull === "throw") assert.equal(evictions, 0);
          if (!refused) continue;
          assert.deepEqual([look(own, key), look(other, key)], seen);
          assert.equal(evictions, before.evictions);
        }
        for (const each of limits) each.resetPrefix();
        const { keys, bytes } = store.statistics();
        assert.deepEqual([keys, bytes], [0, 0], "all that was counted is given back");
      }),
      fcOptions({ numRuns: 30 }),
    );
  });
}

function look(api: Limiter, key: string): unknown {
  const { remaining, debt, resetAfter } = api.peek(key, 0);
  return { remaining, debt, resetAfter };
}

function isFull(call: () => void): boolean {
  try {
    call();
    return false;
  } catch (error) {
    assert.ok(error instanceof StoreFullError, String(error));
    return true;
  }
}

test("a key takes at most half of maxBytes, and forgets nobody if it is longer", () => {
  const store = memoryStore({ maxBytes: 20_000 });
  const api = limiter(gcra({ limit: 5, period: "1h", burst: 5 }), { store, prefix: "a" });
  for (let key = 0; key < 20; key++) api.consume(`${key}`);
  const before = store.statistics();
  assert.throws(() => api.consume("x".repeat(10_000)), /must take at most half of maxBytes/);
  const both = [{ limiter: api, key: "0" }, { limiter: api, key: "Ж".repeat(5_000) }];
  assert.throws(() => consumeAll(both), StoreFullError);
  assert.deepEqual(store.statistics(), before);
  assert.equal(api.peek("0").remaining, 3);
  api.consume("x".repeat(9_800));
  assert.equal(store.statistics().keys, 21);
});

const make = (keys: number) => memoryStore({ maxBytes: 200 * keys });

test("a flood of keys used once frees nobody from a store bounded by bytes", () => {
  for (const algorithm of [evictionSubjects["fixedWindow"]!, evictionSubjects["slidingLog"]!]) {
    const { admitted, due } = guessesAdmitted(make, algorithm, { capacity: 300 });
    assert.ok(admitted <= due + EVICTION_LIMIT, `${admitted} admitted and ${due} due`);
    assert.equal(refusedKeysFreed(make, algorithm, { capacity: 300, refused: 150 }), 0);
  }
});

test("bytes are counted for keys, their text and their places", () => {
  const store = memoryStore();
  const api = limiter(gcra({ limit: 5, period: "1h", burst: 5 }), { store, prefix: "a" });
  for (let key = 0; key < 1_000; key++) api.consume(`${key}`.padStart(100, "k"));
  const { bytes } = store.statistics();
  assert.ok(bytes > 210 * 1_000 && bytes < 290 * 1_000, `${bytes} bytes`);
});

test("a snapshot fills a store to maxBytes, and its bytes are given back", () => {
  for (const algorithm of ALGORITHMS) {
    const spec = { prefix: "a", clock: () => 0 };
    const from = limiter(algorithm, { ...spec, store: memoryStore() });
    for (let key = 0; key < 300; key++) from.consume(`${key}`, 1 + key % 3);
    for (
      const [onFull, opensFirst] of [["throw", true], ["throw", false], ["evict", false]] as const
    ) {
      const store = memoryStore({ maxBytes: 20_000, onFull });
      const early = opensFirst ? limiter(algorithm, { ...spec, store }) : undefined;
      const { restored, full } = restore(store, dump(from.store), { now: 0 });
      assert.ok(restored > 20 && full > 20 && restored + full === 300, `${restored} and ${full}`);
      assert.ok(store.statistics().bytes <= 20_000);
      const api = early ?? limiter(algorithm, { ...spec, store });
      // A limiter that opens later reads states from their text, which may be shorter.
      if (onFull === "evict") assert.ok(store.statistics().bytes <= 20_000, algorithm.id);
      api.resetPrefix();
      const { keys, bytes } = store.statistics();
      assert.deepEqual([keys, bytes], [0, 0]);
    }
  }
});

test("maxBytes is checked, and has a default", () => {
  assert.throws(() => memoryStore({ maxBytes: 1_023 }), RangeError);
  assert.throws(() => memoryStore({ maxBytes: 1.5 }), RangeError);
  assert.ok(memoryStore().statistics().maxBytes >= 2 ** 20);
});

test("keys of a thousand characters end no process with a small heap", () => {
  if (runtime() !== "node") return;
  const program = `
    import { gcra, limiter, memoryStore } from ${JSON.stringify(`${rootPath}mod.ts`)};
    const store = memoryStore();
    const api = limiter(gcra({ limit: 5, period: "1h", burst: 5 }), { store, prefix: "a" });
    const tail = "x".repeat(1_000);
    // As a socket gives them: concatenated text would share its tail.
    for (let key = 0; key < 45_000; key++) {
      api.consume(Buffer.from(key + tail).toString("latin1"));
    }
    const { keys, evictions } = store.statistics();
    console.log(keys + evictions);
  `;
  const flags = ["--experimental-strip-types", "--no-warnings", "--max-old-space-size=24"];
  const { stdout, status } = spawnSync(
    process.execPath,
    [...flags, "--input-type=module", "-e", program],
    { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
  );
  assert.deepEqual([status, stdout.trim()], [0, "45000"]);
});

test("a limiter that opens a restored family leaves no more than maxBytes", () => {
  const log = slidingLog({ limit: 1_000, period: "1h" });
  let now = 1_790_000_000_000;
  const clock = () => now;
  const large = memoryStore({ maxBytes: 2_000_000 });
  const logs = limiter(log, { store: large, prefix: "logs", clock });
  for (let key = 0; key < 10; key++) {
    for (let call = 0; call < 300; call++, now++) logs.consume(`key ${key}`);
  }
  const small = memoryStore({ maxBytes: 40_000 });
  assert.equal(restore(small, dump(large), { now }).restored, 10);
  const restored = limiter(log, { store: small, prefix: "logs", clock });
  const { bytes, maxBytes, evictions, keys } = small.statistics();
  assert.ok(bytes <= maxBytes, `${bytes} bytes`);
  assert.equal(keys + evictions, 10);
  assert.ok(keys > 0);
  const left = Array.from({ length: 10 }, (_, key) => restored.peek(`key ${key}`, 0).remaining);
  assert.equal(left.filter((units) => units === 700).length, keys);
});
