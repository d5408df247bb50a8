import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import { gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import { type CompareAndSet, type DriverCell, DriverError } from "../../../stores/driver.ts";
import { compareAndSetStore } from "../../../stores/optimistic/compare_and_set.ts";
import { mapDriver } from "../../support/drivers/map_driver.ts";
import { fcOptions } from "../../support/seed.ts";
import { startFile } from "../../support/start_file.ts";

describe("a store on a driver that compares and sets", () => {
  let driver = mapDriver();
  function make() {
    driver = mapDriver();
    return compareAndSetStore(driver, { deadline: 5_000, timeout: 30_000 });
  }
  for (const law of storeLaws(make, { reuse: true, writes: () => driver.writes })) {
    test(law.name, () => law.run(fcOptions({ numRuns: 20 })));
  }
});

test("a clock of the database that is set back refuses nobody for longer than the limit does", async () => {
  let ahead = 0;
  const driver = mapDriver();
  const store = compareAndSetStore({
    ...driver,
    async commit(...call) {
      const { lost } = await driver.commit(...call);
      return { lost, now: Date.now() + ahead };
    },
  });
  const api = limiter(gcra({ limit: 60, period: "1m", burst: 3 }), { store, prefix: "api" });
  while ((await api.consume("a")).allowed);
  ahead = -3_600_000;
  // The first call still goes by the time of before, and learns of the other one.
  await api.consume("b");
  const { allowed, retryAfter } = await api.consume("a");
  assert.equal(allowed, false);
  assert.ok(retryAfter <= 1_000, `${retryAfter} ms`);
  await store.close();
});

/** A limiter on the map. One of its commits fails. */
function failingOnce(error: Error) {
  const driver = mapDriver();
  let commits = 0;
  const failing: CompareAndSet = {
    ...driver,
    commit: (...call) => {
      if (call[0].length > 0 && ++commits === 1) return Promise.reject(error);
      return driver.commit(...call);
    },
  };
  const store = compareAndSetStore(failing);
  return {
    api: limiter(gcra({ limit: 3, period: "1h", burst: 3 }), { store, prefix: "api" }),
    store,
  };
}

test("keys of a prefix that cannot be deleted are an error that says so, as on every store", async () => {
  const error = new DriverError("disk gone", { applied: "no", rule: "have a disk" });
  const store = compareAndSetStore({ ...mapDriver(), deletePrefix: () => Promise.reject(error) });
  const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), { store, prefix: "api" });
  await assert.rejects(api.resetPrefix(), {
    name: "StoreUnavailableError",
    applied: "no",
    message: "Cannot delete the keys of a prefix as The map must have a disk: disk gone",
  });
  await store.close();
});

describe("a driver's failure", () => {
  test("that is to be tried again is a lost race", async () => {
    const { api, store } = failingOnce(new DriverError("40001", { applied: "no", retry: true }));
    assert.equal((await api.consume("key")).remaining, 2);
    assert.equal(store.statistics().conflicts, 1);
    await store.close();
  });

  test("of one call leaves its neighbours alone", async () => {
    const { api, store } = failingOnce(
      new DriverError("22021", { applied: "no", scope: "call" }),
    );
    const answers = await Promise.all(["a", "b", "c"].map((key) => api.consume(key)));
    assert.deepEqual(answers.map(({ remaining }) => remaining), [2, 2, 2]);
    await store.close();
  });

  test("groups that others keep locked keep nobody else waiting, and the policy answers calls on them", async () => {
    const driver = mapDriver();
    let isLocked = true;
    const store = compareAndSetStore({
      ...driver,
      async commit(groups, signal) {
        const isHeld = (cells: readonly DriverCell[]) =>
          isLocked && cells[0]!.key.includes("{held}");
        const places = groups.flatMap((cells, group) => isHeld(cells) ? [] : [group]);
        const { now, lost } = await driver.commit(places.map((place) => groups[place]!), signal);
        return {
          now,
          lost: lost.map((each) => ({ ...each, group: places[each.group]! })),
          locked: groups.flatMap((cells, group) => isHeld(cells) ? [group] : []),
        };
      },
    }, { timeout: 20, onUnavailable: "deny" });
    const api = limiter(gcra({ limit: 3, period: "1h", burst: 3 }), { store, prefix: "api" });
    const [held, free] = await Promise.all([api.consume("held"), api.consume("free")]);
    assert.deepEqual([held.allowed, held.source], [false, "policy"]);
    assert.deepEqual([free.remaining, free.source], [2, undefined]);
    isLocked = false;
    assert.equal((await api.consume("held")).remaining, 2);
    await store.close();
  });

  test("of a connection tries another one, and fails no call", async () => {
    const driver = mapDriver();
    let commits = 0;
    const outages: string[] = [];
    const store = compareAndSetStore({
      ...driver,
      commit(groups, signal) {
        if (++commits % 4 === 1 || commits % 4 === 2) {
          return Promise.reject(new DriverError("57P01", { applied: "no", scope: "connection" }));
        }
        return driver.commit(groups, signal);
      },
    }, { onOutage: ({ state }) => void outages.push(state) });
    const api = limiter(gcra({ limit: 9, period: "1h", burst: 9 }), { store, prefix: "api" });
    for (const left of [8, 7, 6]) assert.equal((await api.consume("key")).remaining, left);
    assert.deepEqual(outages, []);
    await store.close();
  });

  test("that says nothing may have been charged, and is not tried again", async () => {
    const { api, store } = failingOnce(new Error("gone"));
    await assert.rejects(api.consume("key"), { name: "StoreUnavailableError", applied: "unknown" });
    assert.equal((await api.consume("key")).remaining, 2);
    await store.close();
  });

  test("of the server was not charged", async () => {
    const { api, store } = failingOnce(new DriverError("no table", { applied: "no" }));
    await assert.rejects(api.consume("key"), { name: "StoreUnavailableError", applied: "no" });
    await store.close();
  });
});

for (const onUnavailable of ["allow", "deny"] as const) {
  test(`a store that is closed answers no more, whatever its policy: ${onUnavailable}`, async () => {
    const store = compareAndSetStore(mapDriver(), { onUnavailable });
    const api = limiter(gcra({ limit: 3, period: "1h", burst: 3 }), { store, prefix: "api" });
    await api.consume("key");
    // One call is under way, and one waits.
    const calls = [api.consume("key")];
    await new Promise((resolve) => setImmediate(resolve));
    calls.push(api.consume("key"));
    await store.close();
    calls.push(api.consume("key"));
    const ends = await Promise.allSettled(calls);
    const errors = ends.slice(1).map((end) => end.status === "rejected" && end.reason);
    for (const error of errors) {
      assert.ok(error instanceof StoreUnavailableError);
      assert.equal(error.applied, "no");
    }
  });
}

test("a store that is closed before it has reached its database reports no outage", async () => {
  const outages: unknown[] = [];
  const store = compareAndSetStore(
    { ...mapDriver(), commit: () => new Promise(() => {}) },
    { onOutage: (outage) => void outages.push(outage) },
  );
  const api = limiter(gcra({ limit: 3, period: "1h", burst: 3 }), { store, prefix: "api" });
  const call = api.consume("key");
  await new Promise((resolve) => setImmediate(resolve));
  await store.close();
  await assert.rejects(call, StoreUnavailableError);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(outages, []);
});

test("a probe makes a further attempt beside one that gets no answer", async () => {
  const driver = mapDriver();
  let attempts = 0;
  const store = compareAndSetStore({
    ...driver,
    commit(groups, signal) {
      if (groups.length > 0) return driver.commit(groups, signal);
      attempts++;
      if (attempts === 1) return Promise.reject(new Error("away"));
      return attempts === 2 ? new Promise(() => {}) : driver.commit(groups, signal);
    },
  }, { deadline: 30_000, timeout: 60_000 });
  const api = limiter(gcra({ limit: 1_000_000, period: "1h", burst: 1_000_000 }), {
    store,
    prefix: "api",
  });
  await assert.rejects(api.consume("key"), /away/);
  const calls: Promise<boolean>[] = [];
  // Calls between two probes fail at once, because the last attempt failed a moment ago.
  while (attempts < 3) {
    calls.push(api.consume("key").then(({ allowed }) => allowed, () => false));
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(calls.length < 1_000, "a further attempt");
  }
  const answers = await Promise.all(calls);
  // These are the call that made the attempt without an answer, and the call that made the next.
  assert.equal(answers.filter((allowed) => allowed).length >= 2, true);
  await store.close();
});

test("a store whose calls are answered keeps no process alive", async () => {
  const [status] = await once(startFile("drivers/one_call", []), "close");
  assert.equal(status, 0);
});

test("a call on a key that the database cannot hold fails alone", async () => {
  const store = compareAndSetStore(mapDriver());
  const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), { store, prefix: "api" });
  await assert.rejects(api.consume("x".repeat(2_000)), /Cannot store a key as /);
  assert.equal((await api.consume("a\0b")).allowed, true);
  assert.equal((await api.consume("a%00b")).allowed, true);
  assert.equal((await api.consume("x".repeat(1_900))).allowed, true);
  await store.close();
});

test("stored keys are well-formed, and without NUL", async () => {
  const driver = mapDriver();
  const store = compareAndSetStore(driver);
  const algorithm = gcra({ limit: 1, period: "1h", burst: 1 });
  for (const [prefix, key] of [["a", "\0"], ["\0", "a"]] as const) {
    assert.equal((await limiter(algorithm, { store, prefix }).consume(key)).allowed, true);
  }
  assert.equal(driver.texts.size, 2);
  for (const key of driver.texts.keys()) assert.ok(!key.includes("\0"), key);
  const malformed = limiter(algorithm, { store, prefix: "\ud800" });
  await assert.rejects(malformed.consume("a"), TypeError);
  await store.close();
});
