import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { consumeAll, gcra, limiter } from "../../../mod.ts";
import { hasWalResetBug, networkFileSystem } from "../../../stores/sqlite/check_file.ts";
import { openPath } from "../../../stores/sqlite/database.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { inFolder } from "../../support/in_folder.ts";
import { slow } from "../../support/sqlite/contest.ts";

test("a limit survives a restart", () =>
  inFolder((folder) => {
    const path = join(folder, "limits.db");
    const allowed = [1, 2, 3].map(() => {
      using store = sqliteStore(path);
      return limiter(slow(2), { store, prefix: "api" }).consume("key").allowed;
    });
    assert.deepEqual(allowed, [true, true, false]);
    return Promise.resolve();
  }));

test("calls of one turn share a transaction, in their order", async () => {
  await using store = sqliteStore(":memory:", { batch: "turn" });
  const api = limiter(slow(3), { store, prefix: "api" });
  const decisions = await Promise.all([1, 2, 3, 4].map(() => api.consume("key")));
  assert.deepEqual(decisions.map(({ allowed }) => allowed), [true, true, true, false]);
  const other = limiter(slow(3), { store, prefix: "other" });
  const both = await consumeAll([{ limiter: api, key: "key" }, { limiter: other, key: "key" }]);
  assert.equal(both.allowed, false);
  assert.equal((await other.peek("key", 0)).remaining, 3);
  const { decisions: decided, batches, writes } = store.statistics();
  assert.deepEqual({ decided, batches, writes }, { decided: 6, batches: 3, writes: 1 });
});

test("calls of a turn beyond maxPending are refused as overload", async () => {
  await using store = sqliteStore(":memory:", { batch: "turn", maxPending: 2 });
  const api = limiter(slow(9), { store, prefix: "api" });
  const calls = [1, 2, 3].map(() => api.consume("key"));
  await assert.rejects(calls[2]!, { name: "StoreOverloadedError" });
  assert.deepEqual((await Promise.all(calls.slice(0, 2))).map(({ allowed }) => allowed), [
    true,
    true,
  ]);
  await using denying = sqliteStore(":memory:", {
    batch: "turn",
    maxPending: 1,
    onOverload: "deny",
  });
  const other = limiter(slow(9), { store: denying, prefix: "api" });
  const [, refused] = await Promise.all([other.consume("key"), other.consume("key")]);
  assert.deepEqual([refused!.allowed, refused!.source], [false, "policy"]);
});

test("calls of a turn are decided before the store is closed", async () => {
  const store = sqliteStore(":memory:", { batch: "turn" });
  const api = limiter(slow(1), { store, prefix: "api" });
  const [decision] = await Promise.all([api.consume("key"), store.close()]);
  assert.equal(decision.allowed, true);
  await assert.rejects(async () => await api.consume("key"), { name: "StoreUnavailableError" });
});

test("keys that are fresh again are deleted as others are written", () => {
  using database = disposable(openPath(":memory:"));
  using store = sqliteStore(database);
  const { now } = Date;
  let time = 1_790_000_000_000;
  Date.now = () => time;
  try {
    const api = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), { store, prefix: "api" });
    let most = 0;
    for (let call = 0; call < 6_000; call++) {
      time += 10;
      api.consume(`key ${call}`);
      if (call % 100 === 0) most = Math.max(most, rowsOf(database));
    }
    // A state is kept for 1 s and up to 8 s more, in which 900 others come.
    assert.ok(most < 2_500, `${most} rows`);
    assert.ok(rowsOf(database) >= 100);
  } finally {
    Date.now = now;
  }
});

test("keys that a database cannot hold are refused", () => {
  using store = sqliteStore(":memory:");
  const api = limiter(slow(2), { store, prefix: "api" });
  assert.throws(() => api.consume("é".repeat(1_000)), {
    name: "RangeError",
    message: /2000 bytes/,
  });
  assert.equal(api.consume("\0").remaining, 1);
  assert.equal(api.consume("%00").remaining, 1);
});

test("a file that one connection has for itself locks others out", () =>
  inFolder((folder) => {
    const path = join(folder, "limits.db");
    using store = sqliteStore(path, { shared: false });
    limiter(slow(2), { store, prefix: "api" }).consume("key");
    const database = openPath(path);
    try {
      assert.throws(() => database.prepare("SELECT * FROM tidegate").all(), /locked/);
    } finally {
      database.close();
    }
    return Promise.resolve();
  }));

test("a store may have a table of another name, in a database that is open", () => {
  using database = disposable(openPath(":memory:"));
  // A word of SQL.
  const store = sqliteStore(database, { table: "order" });
  limiter(slow(2), { store, prefix: "api" }).consume("key");
  store.close();
  assert.equal(rowsOf(database, "order"), 1);
});

test("options are checked", () => {
  for (
    const [options, message] of [
      [{ timeout: 0 }, /timeout must be an integer from 1 to 2147483647/],
      [{ table: "sqlite_limits" }, /table must .* not begin with sqlite_/],
      [{ table: "a; DROP" }, /table must be a name of letters, digits and underscores/],
      [{ shared: 1 }, /shared must be true or false/],
      [{ batch: "tick" }, /batch must be "call" or "turn"/],
      [{ onUnavailable: "fail" }, /onUnavailable must be/],
      [{ maxPendin: 1 }, /no option "maxPendin": .*maxPending/],
    ] as const
  ) assert.throws(() => sqliteStore(":memory:", options as never), message);
  assert.throws(() => sqliteStore("" as never), /path must be a non-empty string/);
  assert.throws(() => sqliteStore(5 as never), /it must be given a path, or an open database/);
});

test("versions that can corrupt a shared file are known", () => {
  const faulty = ["2.8.17", "3.7.0", "3.44.5", "3.50.6", "3.51.0", "3.51.2"];
  const sound = ["3.50.7", "3.51.3", "3.51.10", "3.53.4", "4.0.0"];
  assert.deepEqual(faulty.map(hasWalResetBug), faulty.map(() => true));
  assert.deepEqual(sound.map(hasWalResetBug), sound.map(() => false));
});

test("network file systems are known by their types, as runtimes show them", () => {
  assert.equal(networkFileSystem(0x6969), "NFS");
  assert.equal(networkFileSystem(0xff534d42), "CIFS");
  assert.equal(networkFileSystem(0xff534d42 | 0), "CIFS");
  assert.equal(networkFileSystem(0xef53), undefined);
  assert.equal(networkFileSystem(undefined), undefined);
});

function rowsOf(database: ReturnType<typeof openPath>, table = "tidegate"): number {
  const row = database.prepare(`SELECT count(*) AS count FROM "${table}"`).get();
  return Number((row as { readonly count: number }).count);
}

function disposable(database: ReturnType<typeof openPath>) {
  return Object.assign(database, { [Symbol.dispose]: () => void database.close() });
}
