/*
 * A driver for the storage of a Durable Object (SQLite) of Cloudflare. An object is one thread, and
 * its storage answers at once. So a limiter in it is synchronous, and no other request comes in
 * between.
 *
 *   export class Limits extends DurableObject {
 *     #api: Limiter<"sync">;
 *     constructor(state: DurableObjectState, env: Env) {
 *       super(state, env);
 *       this.#api = limiter(gcra({ limit: 100, period: "1m", burst: 100 }), {
 *         store: lockedStore(durableObject(state.storage)),
 *         prefix: "api",
 *       });
 *     }
 *     consume = (key: string) => this.#api.consume(key);
 *   }
 *
 *   const { allowed } = await env.LIMITS.getByName(tenant).consume(user);    in the worker
 *
 * The object sends an answer only once its writes are durable, so a crash loses no answered call.
 */
import type { LockedTransaction } from "../../stores/stores.ts";

/** The part of a Durable Object's storage that the driver needs. */
export interface ObjectStorage {
  /** Its SQLite database. */
  readonly sql: {
    exec(statement: string, ...values: (string | number)[]): {
      toArray(): Record<string, unknown>[];
    };
  };
  /** Runs a function in a transaction. Rolls it back if the function throws. */
  transactionSync<Answer>(work: () => Answer): Answer;
}

/** The driver of an object's storage. Its table is `tidegate`. */
export function durableObject(storage: ObjectStorage): LockedTransaction {
  const { sql } = storage;
  sql.exec(`
    CREATE TABLE IF NOT EXISTS tidegate (
      key TEXT PRIMARY KEY, state TEXT NOT NULL, fresh_at INTEGER NOT NULL
    ) WITHOUT ROWID`);
  let sweptTo = "";

  const stateOf = (key: string) =>
    String(sql.exec("SELECT state FROM tidegate WHERE key = ?", key).toArray()[0]?.["state"] ?? "");

  return {
    name: "The Durable Object",
    transact: (keys, body) =>
      storage.transactionSync(() => {
        const { writes, answer } = body(keys.map(stateOf));
        for (const { key, next, freshAt } of writes) {
          if (next === "") sql.exec("DELETE FROM tidegate WHERE key = ?", key);
          else sql.exec("REPLACE INTO tidegate VALUES (?, ?, ?)", key, next, freshAt);
        }
        return answer;
      }),
    sweep(most) {
      const page = sql.exec(
        "SELECT key, fresh_at FROM tidegate WHERE key > ? ORDER BY key LIMIT ?",
        sweptTo,
        most,
      ).toArray();
      sweptTo = page.length < most ? "" : String(page.at(-1)!["key"]);
      for (const { key, fresh_at } of page) {
        if (Number(fresh_at) < Date.now()) sql.exec("DELETE FROM tidegate WHERE key = ?", `${key}`);
      }
    },
    deletePrefix: (beginning) =>
      void sql.exec("DELETE FROM tidegate WHERE substr(key, 1, length(?1)) = ?1", beginning),
  };
}
