/*
 * Limits in a table of Postgres. This example uses PGlite, a Postgres in the process, so that nothing
 * else has to run. With a server, give `postgresStore` a pool of `pg`, the result of `postgres()`, or
 * Bun's `SQL`.
 *
 *   npm install @electric-sql/pglite
 *   bun examples/postgres.ts
 */
import { PGlite } from "@electric-sql/pglite";
import { consumeAll, gcra, limiter } from "tidegate";
import { postgresStore } from "tidegate/postgres";

const database = new PGlite();
const store = postgresStore(database);
await store.migrate();

const perUser = limiter(gcra({ limit: 3, period: "1m", burst: 3 }), { store, prefix: "user" });
const perAddress = limiter(gcra({ limit: 5, period: "1m", burst: 5 }), {
  store,
  prefix: "address",
});

// Both are charged, or neither, by one statement.
for (const user of ["ada", "ada", "ada", "ada", "bob", "bob", "bob"]) {
  const { allowed, retryAfter } = await consumeAll([
    { limiter: perUser, key: user },
    { limiter: perAddress, key: "192.0.2.1" },
  ]);
  console.log(allowed ? `${user} comes in` : `${user} may come again in ${retryAfter} ms`);
}

const { rows } = await database.query("SELECT key, state FROM tidegate ORDER BY key");
for (const { key, state } of rows as { key: string; state: string }[]) {
  console.log(`${key} holds ${state}`);
}
await store.close();
await database.close();
