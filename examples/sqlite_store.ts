/*
 * A store of one's own: states as text in SQLite. It loads, calls `transact` and commits.
 */
import { DatabaseSync } from "node:sqlite";
import type { SyncStore } from "../mod.ts";
import {
  type FamilySpec,
  keptFor,
  namesOf,
  type Operation,
  plainFamily,
  takeOver,
  transact,
} from "../core/toolkit.ts";

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
  const remove = database.prepare("DELETE FROM states WHERE key = ?");
  const sweep = database.prepare("DELETE FROM states WHERE fresh_at <= ?");

  function stateUnder(name: string, { codec }: FamilySpec["algorithm"]): unknown {
    const row = load.get(name);
    return row === undefined ? undefined : codec.decode(String(row.state));
  }

  /** The state of an operation's key; one that holds none may take over from older options. */
  function stateOf({ bound, key }: Operation, now: number): unknown {
    const { spec } = bound.family;
    const [name, ...older] = namesOf(spec, key) as [string, ...string[]];
    const held = stateUnder(name, spec.algorithm);
    if (held !== undefined) return held;
    const from = (index: number) => stateUnder(older[index]!, spec.older[index]!.algorithm);
    const taken = takeOver(spec, from, now);
    if (taken === undefined) return spec.algorithm.initial;
    if (bound.verb.kind !== "look") {
      remove.run(older[taken.index]!);
      write(name, spec.algorithm, taken.state, now);
    }
    return taken.state;
  }

  function write(name: string, algorithm: FamilySpec["algorithm"], state: unknown, now: number) {
    if (state === algorithm.initial) return remove.run(name);
    const [decision] = algorithm.step(state, now, 0);
    const kept = keptFor(algorithm, state, now, decision);
    return keep.run(name, algorithm.codec.encode(state), Math.floor(now) + kept);
  }

  const run: SyncStore["run"] = (operations, now = Date.now()) => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const states = operations.map((operation) => stateOf(operation, now));
      const { answers, nexts } = transact(operations, states, now);
      operations.forEach(({ bound: { family }, key }, index) => {
        const next = nexts[index];
        if (next !== states[index]) write(family.nameOf(key), family.spec.algorithm, next, now);
      });
      if (nexts.some((next, index) => next !== states[index])) sweep.run(Math.floor(now));
      database.exec("COMMIT");
      return answers;
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  };
  const forget = (names: readonly string[]) => names.forEach((name) => remove.run(name));
  return {
    open: (spec) => plainFamily({ run, forget }, spec),
    run,
    close: () => database.close(),
    [Symbol.asyncDispose]: () => Promise.resolve(database.close()),
  };
}
