import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";

import { limiter, StoreUnavailableError, type SyncStore } from "../../../mod.ts";
import type { LockedStoreExtras } from "../../../stores/locked/locked_store.ts";
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

test("a file that is not a database is refused, with the reason", () =>
  inFolder((folder) => {
    const path = join(folder, "limits.db");
    writeFileSync(path, "This is no database at all. ".repeat(100));
    assert.throws(() => sqliteStore(path), /Cannot open sqliteStore as .*not a database/);
    const nowhere = join(folder, "no such folder of a name as long as paths are", "limits.db");
    for (const each of [path, nowhere]) {
      assert.throws(() => sqliteStore(each), (error: Error) => {
        assert.ok(error.message.endsWith(`: its path is ${JSON.stringify(each)}`), error.message);
        return true;
      });
    }
    return Promise.resolve();
  }));

test("a file that can only be read is refused when it is opened", () =>
  inFolder((folder) => {
    const path = join(folder, "limits.db");
    sqliteStore(path).close();
    const database = openPath(path);
    database.exec("PRAGMA query_only = 1");
    assert.throws(
      () => sqliteStore(database),
      /Cannot open sqliteStore as SQLite must be able to read and write its file: .*readonly/,
    );
    database.close();
    return Promise.resolve();
  }));

test("the log that a long reader made grow is cut back once the reader has ended", () =>
  inFolder((folder) => {
    const path = join(folder, "limits.db");
    const store = sqliteStore(path);
    const api = limiter(slow(1_000_000), { store, prefix: "api" });
    const reader = openPath(path);
    const logBytes = () => statSync(`${path}-wal`).size;
    api.consume("key");
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM tidegate").get();
    for (let call = 0; logBytes() < 17 * 2 ** 20 && call < 100_000; call++) api.consume("key");
    assert.ok(logBytes() > 16 * 2 ** 20);
    reader.exec("COMMIT");
    for (let call = 0; call < 3; call++) api.consume("key");
    assert.ok(logBytes() <= 16 * 2 ** 20, `${logBytes()} bytes`);
    reader.close();
    store.close();
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

test("inside a transaction of the caller's, a call fails and the transaction goes on", () => {
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

test("a full database fails calls, and loses nothing that was answered", () => {
  const database = openPath(":memory:");
  database.exec("PRAGMA max_page_count = 60");
  fillAndGoOn(sqliteStore(database), () => database.exec("PRAGMA max_page_count = 10000"));
  database.close();
});

// Nobody else can mount a small disk; SQLite reports the same error for the limit on pages above.
if (process.platform === "linux" && process.getuid?.() === 0 && canMount()) {
  test("a full disk fails calls, and loses nothing that was answered", () =>
    inFolder((folder) => {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", folder]);
      try {
        fillAndGoOn(
          sqliteStore(join(folder, "limits.db")),
          () => execFileSync("mount", ["-o", "remount,size=64m", folder]),
        );
      } finally {
        execFileSync("umount", ["-l", folder]);
      }
      return Promise.resolve();
    }));
}

/** Whether this root may mount, which one in a container often may not. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", ["-l", folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Charges keys until nothing more fits in, makes room, and looks at each key. */
function fillAndGoOn(store: SyncStore & LockedStoreExtras, makeRoom: () => void): void {
  const api = limiter(slow(2), { store, prefix: "api" });
  const answered: string[] = [];
  const fill = () => {
    for (let call = 0; call < 10_000; call++) {
      const key = `${"key".repeat(100)} ${answered.length}`;
      if (api.consume(key).allowed) answered.push(key);
    }
  };
  assert.throws(fill, isUnavailable(/full/));
  makeRoom();
  assert.ok(answered.length > 10);
  assert.deepEqual(answered.map((key) => api.peek(key, 0).remaining), answered.map(() => 1));
  assert.equal(api.peek(`${"key".repeat(100)} ${answered.length}`, 0).remaining, 2);
  assert.equal(api.consume("another").remaining, 1);
  store.close();
}

function isUnavailable(reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreUnavailableError, String(error));
    assert.match(error.message, reason);
    assert.equal(error.applied, "no");
    assert.ok(error.cause instanceof Error);
    return true;
  };
}
