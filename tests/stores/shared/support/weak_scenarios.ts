/*
 * Scenarios to explore under weak memory, each with a check at its end, and faults that the search
 * must find.
 */

import assert from "node:assert/strict";
import {
  type Algorithm,
  gcra,
  type Limiter,
  slidingLog,
  slidingWindow,
  StoreFullError,
} from "../../../../mod.ts";
import {
  attachMemory,
  header,
  type Memory,
  SIGNAL_COUNT,
} from "../../../../stores/shared/layout.ts";
import {
  type SharedStore,
  sharedStore,
  type SharedStoreHandle,
} from "../../../../stores/shared/shared_store.ts";
import { openThreadStore } from "../../../../stores/shared/thread_store.ts";
import { audit, NOTHING } from "./audit.ts";
import { homeOf, keysOfHome, withFixedHash } from "./homes.ts";
import { consumeKeys, limiterOn } from "./limiter_on.ts";
import type { Region, Schedule, Script, Weakening } from "./weak_memory.ts";

const LIMIT = 3;

/** Threads on a store, and what must hold once all have ended. */
export interface Scenario {
  readonly handle: SharedStoreHandle;
  readonly narrow: Partial<Memory>;
  readonly scripts: readonly Script[];
  check(): void;
}

/** A thread's call, which counts in `got` the units that it takes from "one" and from "two". */
type Call = (api: Limiter, got: number[], thread: number) => unknown;

const number = gcra({ limit: LIMIT, period: "1h", burst: LIMIT });
const many = gcra({ limit: 50, period: "1h", burst: 50 });
const log = slidingLog({ limit: LIMIT, period: "1h" });
const tree = slidingWindow({ limit: 4_000, period: 100_000, precision: 1_000 });

/** A store with few spare blocks, whose words come back after two changes or a few more. */
function narrowStore(
  {
    capacity = 4,
    threads = 4,
    blocks = 9,
    nodes = 40,
    versions = 2,
    onFull = "throw" as
      | "throw"
      | "evict",
  },
) {
  const { handle } = sharedStore({ capacity, threads, maxBytes: 128 * nodes, onFull });
  const narrow = { lastBlock: blocks, firstMark: blocks + 1, blockMask: 2 ** 32 / versions - 1 };
  const memory = attachMemory(handle.buffer);
  // The first thread that comes uses the maker's record.
  const open = () => openThreadStore({ ...memory, ...narrow });
  memory.ints[48] = 0;
  // Keys fall into the same buckets in each run.
  memory.ints[header.hashKeyLow] = memory.ints[header.hashKeyHigh] = 7;
  memory.ints.fill(0, memory.records, memory.blocks);
  return { handle, narrow, open };
}

/** A capacity for which a table has several buckets, and one of them is full. */
const FULL_HOME = 13;

/** As many keys of the home of "one" as fill its bucket. */
function neighboursOfOne(): readonly string[] {
  const { handle } = withFixedHash(sharedStore({ capacity: FULL_HOME, maxBytes: 0, threads: 4 }));
  return keysOfHome(handle, number, homeOf(handle, number, "one"), 12);
}

/**
 * As many are admitted as one thread alone would admit, and the state says the same; no key is
 * forgotten, because there is room for all.
 */
function admitting(
  algorithm: Algorithm,
  threads: number,
  calls: number,
  call: Call,
  sizes: Parameters<typeof narrowStore>[0],
  held: readonly string[] = ["one"],
): Scenario {
  const { handle, narrow, open } = narrowStore(sizes);
  hold(open, algorithm, held);
  const got = Array.from({ length: threads }, () => [0, 0]);
  const scripts = got.map((own, thread) =>
    script((store) => {
      own.fill(0);
      const api = limiterOn(store, algorithm);
      for (let each = 0; each < calls; each++) call(api, own, thread);
    })
  );
  return {
    handle,
    narrow,
    scripts,
    check() {
      const store = open();
      const api = limiterOn(store, algorithm);
      ["one", "two"].forEach((key, index) => {
        const admitted = got.reduce((sum, own) => sum + own[index]!, 0) +
          (held.includes(key) ? 1 : 0);
        const used = algorithm.capacity - api.peek(key, 0).remaining;
        assert.equal(used, admitted, `${used} used of ${key}, ${admitted} admitted`);
        assert.ok(admitted <= algorithm.capacity, `${admitted} admitted`);
      });
      assert.equal(store.statistics().evictions, 0);
      store.close();
      assert.deepEqual(audit(handle), NOTHING);
    },
  };
}

const take = (key: "one" | "two"): Call => (api, got) => {
  if (api.consume(key).allowed) got[key === "one" ? 0 : 1]!++;
};

const takeBoth = (...keys: readonly string[]): Call => (api, got) => {
  if (consumeKeys(api, ...keys)) [0, 1].forEach((index) => got[index]!++);
};

const forget = (key: string): Call => (api) => api.reset(key);

const byThread = (...calls: readonly Call[]): Call => (api, got, thread) =>
  calls[thread]!(api, got, thread);

/** A thread that attaches, calls and closes its store. */
const script = (call: (store: SharedStore) => void): Script => (attach) => {
  const store = attach();
  call(store);
  store.close();
};

/** Takes from keys, before the threads begin. */
function hold(open: () => SharedStore, algorithm: Algorithm, keys: readonly string[]): void {
  const store = open();
  for (const key of keys) limiterOn(store, algorithm).consume(key);
  store.close();
}

/** Scenarios, by the part that they exercise. */
export const scenarios: Readonly<Record<string, () => Scenario>> = {
  "find and replace a number": () => admitting(number, 2, 2, take("one"), {}),
  "find and replace a number, again and again": () =>
    admitting(many, 2, 6, take("one"), { blocks: 7 }),
  "insert two keys": () =>
    admitting(number, 2, 2, byThread(take("one"), take("two")), { blocks: 12 }, []),
  "insert a key, as another slot of its bucket becomes free": () => {
    const call = byThread(take("one"), take("one"), forget("other"));
    return admitting(number, 3, 1, call, { blocks: 12 }, ["other"]);
  },
  "insert a key whose bucket is full, as a slot of it becomes free": () => {
    const neighbours = neighboursOfOne();
    const call = byThread(take("one"), take("one"), forget(neighbours[5]!));
    return admitting(number, 3, 1, call, { capacity: FULL_HOME, blocks: 30 }, neighbours);
  },
  "insert two keys into a store with room for two, one of them by two threads": () => {
    const call = byThread(take("one"), take("one"), take("two"));
    const sizes = { capacity: FULL_HOME, blocks: 30, onFull: "evict" } as const;
    return admitting(number, 3, 1, call, sizes, neighboursOfOne().slice(1));
  },
  "replace a log": () => admitting(log, 2, 2, take("one"), { nodes: 20 }),
  "refuse on a log, whose nodes are used again": () => {
    const giveBack: Call = (api, got) => {
      if (api.refund("one").allowed) got[0]!--;
    };
    const scenario = admitting(log, 2, 3, byThread(take("one"), giveBack), { nodes: 12 });
    return { ...scenario, check: () => void audit(scenario.handle) };
  },
  "replace a tree": () => admitting(tree, 2, 2, take("one"), { nodes: 20 }),
  "several keys at once": () => {
    const call = byThread(takeBoth("one", "two"), takeBoth("two", "one"));
    return admitting(number, 2, 2, call, { blocks: 16 }, ["one", "two"]);
  },
  "several keys at once and a single one": () => {
    const call = byThread(takeBoth("one", "two"), take("one"));
    return admitting(number, 2, 2, call, { blocks: 16 }, ["one", "two"]);
  },
  "two keys at once, and eight calls on one of them, whose blocks come round": () => {
    const both = takeBoth("one", "two");
    const once: Call = (api, got, thread) => got[1] === 0 && both(api, got, thread);
    const call = byThread(once, take("one"));
    return admitting(many, 2, 8, call, { blocks: 11 }, ["one", "two"]);
  },
  "forget a key that another one takes from": () =>
    whole({ blocks: 12, nodes: 20 }, log, 4, ({ reset, consume }, thread) => {
      for (let call = 0; call < 2; call++) (thread === 0 ? reset : consume)("one");
    }),
  "evict keys from a full store": () => {
    const sizes = { capacity: 1, blocks: 12, versions: 4, onFull: "evict" } as const;
    return whole(sizes, number, 1, ({ consume }, thread) => {
      for (let call = 0; call < 2; call++) consume(`${thread} ${call}`);
    });
  },
  "give units back to one that waits": () => {
    const { handle, narrow, open } = narrowStore({});
    const single = gcra({ limit: 1, period: "1h", burst: 1 });
    hold(open, single, ["one"]);
    let isRefused = false;
    const scripts = [
      script((store) => {
        store.open({ prefix: "test", algorithm: single, older: [] }).refundNotice!("one");
        isRefused = !limiterOn(store, single).consume("one").allowed;
      }),
      script((store) => void limiterOn(store, single).refund("one")),
    ];
    return {
      handle,
      narrow,
      scripts,
      check() {
        const { ints, signals } = attachMemory(handle.buffer);
        const isMarked = ints.subarray(signals, signals + SIGNAL_COUNT).some((word) => word % 2);
        assert.ok(!(isRefused && isMarked), "refused, and not woken");
      },
    };
  },
  "attach and close": () => admitting(number, 3, 1, take("one"), { threads: 3, blocks: 12 }),
  "take over the record of a thread that goes on": () => {
    const { handle, narrow, open } = narrowStore({ threads: 1, blocks: 8 });
    const got = [0, 0];
    const scripts: Script[] = [0, 1].map((thread) => (attach) => {
      got[thread] = 0;
      let api: Limiter | undefined;
      for (let call = 0; call < 2; call++) {
        try {
          api ??= limiterOn(attach(), number);
          if (api.consume("one").allowed) got[thread]!++;
        } catch (error) {
          if (!(error instanceof StoreFullError)) throw error;
        }
      }
    });
    return {
      handle,
      narrow,
      scripts,
      check() {
        const store = open();
        const used = LIMIT - limiterOn(store, number).peek("one", 0).remaining;
        assert.equal(used, got[0]! + got[1]!);
        checkWhole(handle, 4);
      },
    };
  },
};

/** Two threads that leave nothing lost, on a store of a key that is held. */
function whole(
  sizes: Parameters<typeof narrowStore>[0],
  algorithm: Algorithm,
  capacity: number,
  call: (api: Limiter, thread: number) => void,
): Scenario {
  const { handle, narrow, open } = narrowStore(sizes);
  hold(open, algorithm, ["one"]);
  const scripts = [0, 1].map((thread) =>
    script((store) => call(limiterOn(store, algorithm), thread))
  );
  return { handle, narrow, scripts, check: () => checkWhole(handle, capacity) };
}

/**
 * Nothing is lost or in two places, every key is counted, and the two threads hold at most one key
 * more than `capacity`.
 */
function checkWhole(handle: SharedStoreHandle, capacity: number): void {
  assert.deepEqual(audit(handle), NOTHING);
  assert.ok(attachMemory(handle.buffer).ints[header.keys]! <= capacity + 1);
}

/** Chance, from a seed: turns of some accesses, and mostly the newest writes. */
export function randomSchedule(seed: number): Schedule {
  let state = seed * 2_654_435_761 + 12_345;
  const random = (bound: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  for (let warm = 0; warm < 3; warm++) random(2);
  const [often, longest] = [[1, 12], [2, 60], [4, 250], [12, 250]][random(4)] as [number, number];
  const stale = [0, 2, 4][random(3)]!;
  return {
    next(running) {
      const accesses = random(often) === 0 ? random(longest) : random(4);
      return [running[random(running.length)]!, 1 + accesses];
    },
    choose: (writes) => stale === 0 || random(stale) > 0 ? 0 : random(writes),
  };
}

/** Stops the first thread after that many accesses while the next one runs, and so on. */
export function stoppedSchedule(accesses: number, seed: number): Schedule {
  const { choose } = randomSchedule(seed);
  let turn = 0;
  return {
    next: (running) => {
      const isFirst = turn++ === 0;
      return isFirst ? [0, accesses] : [running.find((thread) => thread > 0) ?? 0, 500];
    },
    choose,
  };
}

/**
 * Where the first thread is stopped, at each access from the first to the second, in scenarios of
 * which few schedules show what must be found. The other thread may wait for blocks that this one
 * holds.
 */
export const everyStop: Readonly<Record<string, readonly [from: number, to: number]>> = {
  "insert a key whose bucket is full, as a slot of it becomes free": [156, 186],
  "insert two keys into a store with room for two, one of them by two threads": [140, 165],
  "two keys at once, and eight calls on one of them, whose blocks come round": [80, 130],
};

/**
 * Scenarios in which threads wait for blocks that the others hold, because there are so few that all
 * come round. A schedule in which one of the others does not go on comes to no end there, and only
 * there.
 */
export const withFewBlocks: readonly string[] = [
  "find and replace a number, again and again",
  "two keys at once, and eight calls on one of them, whose blocks come round",
];

/** An atomic operation on such a location that is a plain one. */
function plain(region: Region, ...operations: readonly string[]): Partial<Weakening> {
  return { isPlain: (what, at) => at === region && operations.includes(what) };
}

/** Stores to such a location that wait for an operation on another one. */
function late(region: Region, until: Region, operation = "compareExchange"): Partial<Weakening> {
  return {
    isDelayed: (at) => at === region,
    endsDelay: (what, at) => at === until && what === operation,
  };
}

const SWAP = "compareExchange";

/** Faults of memory order, by the scenario in which each must be found, with what shows it first. */
const faults: Readonly<Record<string, Readonly<Record<string, Partial<Weakening>>>>> = {
  "find and replace a number": {
    "the swap of a slot is a load and a store": plain("slot", SWAP),
    "a slot is looked at again by a plain load": plain("slot", "load"),
    "a block is written after its slot was swapped": late("block", "slot"),
    "blocks, nodes and records are handed out by a load and a store": plain("header", "add"),
  },
  "find and replace a number, again and again": {
    "what others announce is read by plain loads": { seed: 46, ...plain("announced", "load") },
    "a word is announced by plain accesses on a processor that keeps the order": {
      seed: 77,
      isOrdered: true,
      ...plain("announced", SWAP, "store", "add", "sub"),
    },
    "a word is announced after the second look at its slot": {
      seed: 21,
      ...late("announced", "slot", "load"),
    },
  },
  "take over the record of a thread that goes on": {
    "a record is locked by a load and a store": { seed: 4, ...plain("announced", SWAP) },
    "a record is unlocked, and a word announced, by plain stores": {
      seed: 29,
      ...plain("announced", "store"),
    },
  },
  "replace a log": {
    "nodes are written after their slot was swapped": late("node", "slot"),
    "the head of a pool is swapped by a load and a store": { seed: 14, ...plain("pool", SWAP) },
    "the head of a pool is read by a plain load": { seed: 21, ...plain("pool", "load") },
  },
  "give units back to one that waits": {
    "a wait is marked by a load and a store": { seed: 22, ...plain("signal", SWAP) },
    "a wait is marked after its call": { seed: 22, ...late("signal", "announced", "store") },
  },
  "insert a key, as another slot of its bucket becomes free": {
    "an intent is set by a load and a store": { seed: 342, ...plain("intent", SWAP) },
  },
  "insert two keys": {
    "keys are counted by a load and a store": {
      seed: 106,
      ...plain("keys", SWAP, "store", "add", "sub"),
    },
  },
  "several keys at once and a single one": {
    "the status of a batch is set by a load and a store": { seed: 130, ...plain("status", SWAP) },
    "the entries of a batch are written after its first mark": {
      seed: 266,
      ...late("batch", "slot"),
    },
  },
};

/** Faults of memory order; each must be found in one of the scenarios. */
export const weakenings: readonly Weakening[] = Object.entries(faults).flatMap((
  [scenario, named],
) => Object.entries(named).map(([name, fault]) => ({ name, scenario, ...fault })));
