import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  acquire,
  type Algorithm,
  fixedWindow,
  limiter,
  type Store,
  StoreUnavailableError,
} from "../../../mod.ts";
import { DriverError, lockedStore, type LockedTransaction } from "../../../stores/stores.ts";

type Transact = LockedTransaction["transact"];

const slow = fixedWindow({ limit: 5_000, period: "1h", anchor: "first" }) as Algorithm;

/** A driver on a map, whose transactions go through a function of the test. */
function mapDriver(
  around: (keys: readonly string[], transact: () => unknown) => unknown = (_, go) => go(),
  times = 1,
) {
  const texts = new Map<string, string>();
  const sweeps: number[] = [];
  const driver: LockedTransaction = {
    name: "The map",
    transact: ((keys, body) =>
      around(keys, () => {
        const held = keys.map((key) => texts.get(key) ?? "");
        // The last call counts.
        for (let call = 1; call < times; call++) body(held, 1_000);
        const { writes, answer } = body(held, 1_000);
        for (const { key, next } of writes) texts.set(key, next);
        return answer;
      })) as Transact,
    sweep: (most) => sweeps.push(most),
  };
  return { driver, texts, sweeps };
}

const isBad = (keys: readonly string[]) => keys.some((key) => key.includes("bad"));
const limiterOf = (store: Store) => limiter(slow, { store, prefix: "api" });

describe("calls of one turn on a locked store", () => {
  test("fail alone where the driver cannot apply one of them", async () => {
    const { driver } = mapDriver((keys, transact) => {
      if (isBad(keys)) throw new DriverError("too long", { applied: "no", scope: "call" });
      return transact();
    });
    const api = limiterOf(lockedStore(driver, { batch: "turn" }));
    const [good, bad] = await Promise.allSettled([api.consume("good"), api.consume("bad")]);
    assert.equal(good.status === "fulfilled" && good.value.remaining, 4_999);
    assert.equal(bad.status === "rejected" && bad.reason.applied, "no");
  });

  test("are not tried again where nobody knows whether they were applied", async () => {
    const { driver } = mapDriver((keys, transact) => {
      const answer = transact();
      if (isBad(keys)) throw new DriverError("no answer", { applied: "unknown", scope: "call" });
      return answer;
    });
    const store = lockedStore(driver, { batch: "turn" });
    const api = limiterOf(store);
    const calls = await Promise.allSettled([api.consume("good"), api.consume("bad")]);
    for (const call of calls) {
      assert.ok(call.status === "rejected" && call.reason instanceof StoreUnavailableError);
      assert.equal(call.reason.applied, "unknown");
    }
    assert.equal(store.statistics().unavailable, 2);
  });

  test("are all answered, however many they are", async () => {
    const sizes: number[] = [];
    const { driver } = mapDriver((keys, transact) => {
      sizes.push(keys.length);
      return transact();
    });
    const store = lockedStore(driver, { batch: "turn" });
    const api = limiterOf(store);
    const calls = Array.from({ length: 2_001 }, (_, key) => api.consume(`key ${key}`));
    assert.ok((await Promise.all(calls)).every(({ allowed }) => allowed));
    assert.deepEqual(sizes, [1_000, 1_000, 1]);
    assert.equal(store.statistics().decisions, 2_001);
  });
});

test("a locked store that is closed decides nothing, though its driver would", () => {
  const { driver, texts } = mapDriver();
  const store = lockedStore(driver);
  const api = limiterOf(store);
  store.close();
  assert.throws(() => api.consume("key"), { name: "StoreUnavailableError", applied: "no" });
  assert.equal(texts.size, 0);
});

test("a locked store of promises never throws: failures reject, and closing ends the waiting calls", async () => {
  const { driver } = mapDriver();
  const failing = () => {
    throw new Error("busy");
  };
  const store = lockedStore({ ...driver, deletePrefix: failing, close: failing }, {
    batch: "turn",
  });
  const api = limiter(slow, { store, prefix: "api" });
  const deleting = api.resetPrefix();
  await assert.rejects(deleting, StoreUnavailableError);
  await api.consume("key", 5_000);
  const waiting = acquire(api, "key");
  const closing = store.close();
  await assert.rejects(closing, /busy/);
  await assert.rejects(waiting, StoreUnavailableError);
});

test("a call that has failed is not charged where its driver decides twice", () => {
  const { driver, texts } = mapDriver(undefined, 2);
  let fails = true;
  const failing = {
    ...slow,
    internals: undefined,
    step(...given: Parameters<Algorithm["step"]>) {
      if (fails) {
        fails = false;
        throw new RangeError("Cannot step");
      }
      return slow.step(...given);
    },
  } as Algorithm;
  const api = limiter(failing, { store: lockedStore(driver), prefix: "api" });
  assert.throws(() => api.consume("key"), { message: "Cannot step" });
  assert.equal(texts.size, 0);
  assert.equal(api.consume("key").remaining, 4_999);
});

test("a locked store sweeps once for so many keys that it has written", () => {
  const { driver, sweeps } = mapDriver();
  const api = limiterOf(lockedStore(driver));
  const write = (count: number) => {
    for (let call = 0; call < count; call++) api.consume("key");
  };
  write(127);
  assert.equal(sweeps.length, 0);
  write(1);
  assert.equal(sweeps.length, 1);
  write(127);
  assert.equal(sweeps.length, 1);
  write(1);
  assert.equal(sweeps.length, 2);
});
