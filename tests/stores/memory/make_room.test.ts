import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  type Algorithm,
  consumeAll,
  fixedWindow,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  slidingLog,
  StoreFullError,
} from "../../../mod.ts";
import { keepState, sweep } from "../../../stores/memory/make_room.ts";
import { emptyTable, openSlots, type Slots } from "../../../stores/memory/slots.ts";

const algorithms: readonly Algorithm[] = [
  gcra({ limit: 5, period: "1s", burst: 5 }),
  fixedWindow({ limit: 5, period: "1s" }),
  slidingLog({ limit: 5, period: "1s" }),
];

/** Calls on one key, at one instant, which write nothing or little. */
const calls: Readonly<Record<string, (api: Limiter) => unknown>> = {
  "refused calls": (api) => api.consume("hot"),
  "looks": (api) => api.peek("hot"),
  "looks at a key that is not held": (api) => api.peek("absent"),
  "charges": (api) => api.charge("hot"),
  "units given back": (api) => api.refund("hot"),
  "batches that are refused": (api) =>
    consumeAll(["hot", "other"].map((key) => ({ limiter: api, key, cost: 5 }))),
};

describe("keys that are fresh go, also while the clock stands still, in the course of", () => {
  for (const [name, call] of Object.entries(calls)) {
    test(name, () => {
      for (const algorithm of algorithms) {
        let now = 1e12;
        const store = memoryStore();
        const options = { store, clock: () => now };
        const api = limiter(algorithm, { ...options, prefix: "a" });
        const daily = limiter(gcra({ limit: 1, period: "1d", burst: 1 }), {
          ...options,
          prefix: "day",
        });
        for (let key = 0; key < 500; key++) daily.consume(`kept ${key}`);
        for (let key = 0; key < 2_000; key++) api.consume(`key ${key}`);
        now += 60_000;
        api.consume("hot", 5);
        for (let round = 0; round < 1_000; round++) call(api);
        assert.ok(store.statistics().keys <= 502, `${store.statistics().keys} keys`);
        assert.equal(daily.peek("kept 7").allowed, false);
      }
    });
  }
});

/** Slots of so many keys, which are fresh at an instant. */
function slotsOf(count: number, onFull: Slots["onFull"], freshAt: (key: number) => number): Slots {
  const slots = openSlots({ maxKeys: count, maxBytes: 2 ** 40, onFull });
  const table = emptyTable("family", gcra({ limit: 1, period: 1_000, burst: 1 }) as Algorithm);
  for (let key = 0; key < count; key++) add(slots, `key ${key}`, freshAt(key), 0);

  function add(slots: Slots, key: string, freshAt: number, now: number): void {
    keepState(slots, table, key, table.slots.get(key), 1, freshAt, now);
  }
  return slots;
}

/** How many numbers of cells a call reads. */
function readsOf(slots: Slots, call: () => void): number {
  const { cells } = slots;
  let reads = 0;
  slots.cells = new Proxy(cells, {
    get(target, name) {
      reads++;
      return Reflect.get(target, name, target);
    },
  });
  try {
    call();
  } finally {
    slots.cells = cells;
  }
  return reads;
}

describe("a call looks at a few slots, however many there are", () => {
  const KEYS = 50_000;
  const addTo = (slots: Slots, now: number) =>
    keepState(slots, slots.owners.find(Boolean)!, "new", undefined, 1, 1e6, now);

  test("while it drops fresh keys", () => {
    const slots = slotsOf(KEYS, "evict", () => 1_000);
    const reads = readsOf(slots, () => sweep(slots, 100_000));
    assert.equal(slots.size, KEYS - 32);
    assert.ok(reads <= 100, `${reads} reads`);
  });

  test("while it looks for a key to evict, and fewer where all are used up", () => {
    // Debt, of which nothing is ever left.
    const slots = slotsOf(KEYS, "evict", () => 1e6);
    const reads = Array.from({ length: 20 }, () => {
      slots.owners.find(Boolean)!.slots.delete("new");
      return readsOf(slots, () => addTo(slots, 0));
    });
    assert.ok(Math.max(...reads) <= 1_100, `${reads} reads`);
    assert.ok(reads.at(-1)! <= 60, `${reads} reads`);
  });

  test("while it must not evict, once it knows that no key can be fresh yet", () => {
    const slots = slotsOf(KEYS, "throw", (key) => key === 40_000 ? 7_000 : 1e6);
    const refused = (now: number) => () => assert.throws(() => addTo(slots, now), StoreFullError);
    assert.ok(readsOf(slots, refused(0)) >= KEYS, "it looks at all of them once");
    assert.equal(readsOf(slots, refused(6_999)), 0);
    // A key of which units are given back is fresh earlier.
    keepState(slots, slots.owners[3]!, "key 3", 3, 1, 6_500, 6_000);
    assert.equal(readsOf(slots, refused(6_499)), 0);
    addTo(slots, 6_500);
    assert.deepEqual([slots.keys[3], slots.size, slots.evictions], ["new", KEYS, 0]);
  });
});

/** When a key is fresh, with the share of its capacity that is left. */
const left = (share: number) => 1e6 - 1 / 16 - (14 / 16) * share;

test("keys with more use stay, also where all neighbours are like them", () => {
  const slots = slotsOf(10_000, "evict", (key) => left(key < 5_000 ? 0.2 : 0.9));
  const table = slots.owners[0]!;
  for (let key = 0; key < 100; key++) {
    keepState(slots, table, `new ${key}`, undefined, 1, left(0.1), 0);
  }
  const gone = slots.keys.slice(0, 5_000).filter((key) => key.startsWith("new")).length;
  // All of twelve keys drawn by chance are among the half with more use at one time in 4,096.
  assert.ok(gone <= 3, `${gone} are gone`);
});

test("the one key that is not used up goes, wherever it is among a thousand", () => {
  for (const one of [3, 500, 999]) {
    const slots = slotsOf(1_000, "evict", (key) => left(key === one ? 0.2 : 0));
    keepState(slots, slots.owners[0]!, "new", undefined, 1, left(0), 0);
    assert.equal(slots.keys[one], "new");
  }
});

test("a key that is fresh keeps its place while its own state grows", () => {
  const slots = openSlots({ maxKeys: 10, maxBytes: 2_000, onFull: "throw" });
  const algorithm = gcra({ limit: 1, period: 1_000, burst: 1 }) as Algorithm;
  const stateBytes = (state: unknown) => (state as { readonly size: number }).size;
  const table = { ...emptyTable("own", algorithm), stateBytes };
  const keep = (key: string, size: number, now: number) =>
    keepState(slots, table, key, table.slots.get(key), { size }, now + 100, now);
  keep("grows", 10, 0);
  keepState(slots, table, "held", undefined, { size: 860 }, 1e6, 0);
  keepState(slots, table, "beside", undefined, { size: 10 }, 1e6, 0);
  const { bytes } = slots;
  assert.throws(() => keep("grows", 860, 200), StoreFullError);
  assert.deepEqual([slots.keys[0], slots.states[0], slots.bytes], ["grows", { size: 10 }, bytes]);
  keep("grows", 20, 200);
  assert.deepEqual([slots.keys[0], slots.states[0], slots.bytes], [
    "grows",
    { size: 20 },
    bytes + 10,
  ]);
});
