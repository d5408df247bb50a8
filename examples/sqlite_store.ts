/*
 * A store of one's own: states as text in SQLite. It loads, calls `transact` and commits.
 */
import { DatabaseSync } from "node:sqlite";
import { type Algorithm, type SyncStore, transact } from "../mod.ts";

/** A store in a file that several processes may share; `:memory:` by default. */
export function sqliteStore(path = ":memory:"): SyncStore {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS states (
      key TEXT PRIMARY KEY, state TEXT NOT NULL, fresh_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS by_fresh_at ON states (fresh_at);
  `);
  const load = database.prepare("SELECT state FROM states WHERE key = ?");
  const keep = database.prepare("INSERT OR REPLACE INTO states VALUES (?, ?, ?)");
  const forget = database.prepare("DELETE FROM states WHERE key = ?");
  const sweep = database.prepare("DELETE FROM states WHERE fresh_at <= ?");

  function stateOf(key: string, algorithm: Algorithm): unknown {
    const row = load.get(key);
    return row === undefined ? undefined : algorithm.codec.decode(String(row.state));
  }
  const store: SyncStore = {
    run(operations, now = Date.now()) {
      database.exec("BEGIN IMMEDIATE");
      try {
        const { decisions, writes } = transact(operations, stateOf, now);
        for (const { key, algorithm, state, resetAfter } of writes) {
          if (state === algorithm.initial) forget.run(key);
          else keep.run(key, algorithm.codec.encode(state), Math.floor(now) + resetAfter);
        }
        if (writes.length > 0) sweep.run(Math.floor(now));
        database.exec("COMMIT");
        return decisions;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    accepts() {},
    delete(key) {
      forget.run(key);
    },
    close() {
      database.close();
    },
    [Symbol.asyncDispose]() {
      store.close();
      return Promise.resolve();
    },
  };
  return store;
}
