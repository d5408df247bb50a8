import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";

import { limiter, StoreUnavailableError } from "../../../mod.ts";
import { openPath } from "../../../stores/sqlite/database.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { inFolder } from "../../support/in_folder.ts";
import { slow } from "../../support/sqlite/contest.ts";

test("another table of the same name is refused when the store is opened", () => {
  const database = openPath(":memory:");
  database.exec("CREATE TABLE tidegate (key TEXT PRIMARY KEY, state BLOB)");
  assert.throws(
    () => sqliteStore(database),
    /the table tidegate must have the columns key, state, fresh_at: .*"key, state"/,
  );
  database.close();
});

test("a file that is no database is refused, with the reason", () =>
  inFolder((folder) => {
    const path = join(folder, "limits.db");
    writeFileSync(path, "This is no database at all. ".repeat(100));
    assert.throws(() => sqliteStore(path), /Cannot open sqliteStore as .*not a database/);
    assert.throws(
      () => sqliteStore(join(folder, "none", "limits.db")),
      /Cannot open sqliteStore as/,
    );
    return Promise.resolve();
  }));

test("a table that is gone fails the call, and nothing else", () => {
  const database = openPath(":memory:");
  const store = sqliteStore(database);
  const api = limiter(slow(2), { store, prefix: "api" });
  api.consume("key");
  database.exec("ALTER TABLE tidegate RENAME TO hidden");
  assert.throws(() => api.consume("key"), isUnavailable(/no such table/));
  database.exec("ALTER TABLE hidden RENAME TO tidegate");
  assert.equal(api.consume("key").remaining, 0);
  store.close();
  database.close();
});

test("a transaction of the caller's own fails the call, and goes on", () => {
  const database = openPath(":memory:");
  const store = sqliteStore(database);
  const api = limiter(slow(2), { store, prefix: "api" });
  database.exec("CREATE TABLE own (number)");
  database.exec("BEGIN; INSERT INTO own VALUES (1)");
  assert.throws(() => api.consume("key"), isUnavailable(/transaction within a transaction/));
  database.exec("COMMIT");
  assert.deepEqual({ ...database.prepare("SELECT number FROM own").get()! }, { number: 1 });
  assert.equal(api.consume("key").remaining, 1);
  store.close();
  database.close();
});

const isRootOnLinux = process.platform === "linux" && process.getuid?.() === 0;

test("a full disk fails calls, and loses nothing that was answered", {
  skip: isRootOnLinux ? false : "only root can mount a small disk",
}, () =>
  inFolder((folder) => {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", folder]);
    try {
      const store = sqliteStore(join(folder, "limits.db"));
      const api = limiter(slow(2), { store, prefix: "api" });
      const answered: string[] = [];
      const fill = () => {
        for (let call = 0; call < 10_000; call++) {
          const key = `${"key".repeat(100)} ${answered.length}`;
          if (api.consume(key).allowed) answered.push(key);
        }
      };
      assert.throws(fill, isUnavailable(/full/));
      execFileSync("mount", ["-o", "remount,size=64m", folder]);
      assert.ok(answered.length > 10);
      assert.deepEqual(answered.map((key) => api.peek(key, 0).remaining), answered.map(() => 1));
      assert.equal(api.peek(`${"key".repeat(100)} ${answered.length}`, 0).remaining, 2);
      assert.equal(api.consume("another").remaining, 1);
      store.close();
    } finally {
      execFileSync("umount", ["-l", folder]);
    }
    return Promise.resolve();
  }));

function isUnavailable(reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreUnavailableError, String(error));
    assert.match(error.message, reason);
    assert.equal(error.applied, "no");
    assert.ok(error.cause instanceof Error);
    return true;
  };
}
