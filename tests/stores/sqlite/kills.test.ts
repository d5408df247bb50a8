import assert from "node:assert/strict";
import { test } from "node:test";
import { join } from "node:path";
import process from "node:process";

import { limiter, StoreUnavailableError } from "../../../mod.ts";
import { openPath } from "../../../stores/sqlite/database.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { inFolder } from "../../support/in_folder.ts";
import { slow } from "../../support/sqlite/contest.ts";
import { ended, startFile } from "../../support/start_file.ts";

test(
  "processes that are killed have charged all that they answered, and no more than they tried",
  () =>
    inFolder(async (folder) => {
      const path = join(folder, "limits.db");
      const limit = 1_000_000;
      const perChild = [0, 0, 0];
      const children = perChild.map((_, place) => {
        const child = startFile("sqlite/casualty", [path, String(limit)]);
        child.stdout!.on("data", (bytes: Uint8Array) => {
          perChild[place]! += bytes.length;
          // Each of them somewhere in the middle of a call.
          if (perChild[place]! > 50 + 70 * place) process.kill(child.pid!, "SIGKILL");
        });
        return child;
      });
      await Promise.all(children.map(ended));
      using store = sqliteStore(path);
      const charged = limit -
        limiter(slow(limit), { store, prefix: "kill" }).peek("key", 0).remaining;
      const answered = perChild.reduce((sum, answers) => sum + answers);
      assert.ok(perChild.every((answers) => answers > 50), `${perChild} answered`);
      assert.ok(charged >= answered, `${charged} charged, ${answered} answered`);
      assert.ok(charged <= answered + children.length, `${charged} charged, ${answered} answered`);
      const database = openPath(path);
      assert.deepEqual(
        database.prepare("PRAGMA integrity_check").all().map((row) => ({ ...row! })),
        [
          { integrity_check: "ok" },
        ],
      );
      database.close();
    }),
);

test(
  "a process that is stopped inside a transaction keeps others no longer than their timeout",
  () =>
    inFolder(async (folder) => {
      const path = join(folder, "limits.db");
      using store = sqliteStore(path, { timeout: 5 });
      using allowing = sqliteStore(path, { timeout: 5, onUnavailable: "allow" });
      using denying = sqliteStore(path, { timeout: 5, onUnavailable: "deny" });
      await using turns = sqliteStore(path, { timeout: 5, batch: "turn" });
      const options = { store, prefix: "stop" };
      const api = limiter(slow(2), options);
      for (let call = 0; call < 2; call++) api.consume("used up");

      const holder = startFile("sqlite/lock_holder", [path]);
      try {
        await new Promise((resolve) => holder.stdout!.once("data", resolve));
        process.kill(holder.pid!, "SIGSTOP");
        for (let call = 0; call < 3; call++) {
          assert.throws(() => api.consume("new"), isLockedOut);
          await assert.rejects(
            limiter(slow(2), { ...options, store: turns }).consume("new"),
            isLockedOut,
          );
        }
        assert.throws(() => api.reset("used up"), isLockedOut);
        assert.throws(() => api.resetPrefix(), isLockedOut);
        const admitted = limiter(slow(2), { ...options, store: allowing }).consume("new");
        const refused = limiter(slow(2), { ...options, store: denying }).consume("new");
        assert.deepEqual([admitted.allowed, admitted.source], [true, "policy"]);
        assert.deepEqual([refused.allowed, refused.source], [false, "policy"]);
        assert.ok(refused.retryAfter > 0);
        // Calls that write nothing need no lock.
        assert.equal(api.consume("used up").allowed, false);
        assert.equal(api.peek("new", 0).remaining, 2);
      } finally {
        const gone = ended(holder);
        process.kill(holder.pid!, "SIGKILL");
        await gone;
      }
      assert.deepEqual([1, 2, 3].map(() => api.consume("new").allowed), [true, true, false]);
      assert.equal(store.statistics().unavailable, 4);
    }),
);

function isLockedOut(error: unknown): boolean {
  assert.ok(error instanceof StoreUnavailableError);
  assert.match(error.message, /SQLite must get the lock of the file within/);
  assert.equal(error.applied, "no");
  return true;
}
