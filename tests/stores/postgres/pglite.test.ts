import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { PGlite } from "@electric-sql/pglite";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import { fixedWindow, limiter, StoreUnavailableError } from "../../../mod.ts";
import {
  postgresStore,
  type PostgresStoreOptions,
} from "../../../stores/postgres/postgres_store.ts";
import { BLOCKABLE, lifeOfABlock, listsMany } from "../../support/blocks.ts";
import { fcOptions } from "../../support/seed.ts";

const ALGORITHM = fixedWindow({ limit: 100, period: "365d", anchor: "first" });
const COMMIT = "tidegate_commit_2(text[], text[], text[], bigint[], integer[], boolean)";
const VERSION =
  /must have the table "tidegate" and the function "tidegate_commit_2" of this version in its search_path/;

/** Tables and functions that are not as they should be: the statement that causes it, and one that mends it. */
const FAULTS: readonly (readonly [name: string, broken: string, mended: string])[] = [
  [
    "a table that is not there",
    "ALTER TABLE tidegate RENAME TO hidden",
    "ALTER TABLE hidden RENAME TO tidegate",
  ],
  [
    "a table without a column",
    "ALTER TABLE tidegate RENAME state TO value",
    "ALTER TABLE tidegate RENAME value TO state",
  ],
  [
    "a table with a column of another type",
    "ALTER TABLE tidegate ALTER state TYPE bytea USING convert_to(state, 'UTF8')",
    "ALTER TABLE tidegate ALTER state TYPE text USING convert_from(state, 'UTF8')",
  ],
  [
    "a table with a further column that must be given",
    "ALTER TABLE tidegate ADD other integer; UPDATE tidegate SET other = 1; ALTER TABLE tidegate ALTER other SET NOT NULL",
    "ALTER TABLE tidegate DROP other",
  ],
  [
    "a table that lets a key stand twice",
    "ALTER TABLE tidegate DROP CONSTRAINT tidegate_pkey",
    "ALTER TABLE tidegate ADD PRIMARY KEY (key)",
  ],
  [
    "a function that is not there",
    `ALTER FUNCTION ${COMMIT} RENAME TO hidden`,
    `DROP FUNCTION hidden`,
  ],
  [
    "a function that takes something else",
    `DROP FUNCTION ${COMMIT}; CREATE FUNCTION tidegate_commit_2(text) RETURNS text LANGUAGE sql AS 'SELECT $1'`,
    "DROP FUNCTION tidegate_commit_2(text)",
  ],
  [
    "a function that answers something else",
    `DROP FUNCTION ${COMMIT}; CREATE FUNCTION ${COMMIT} RETURNS text LANGUAGE sql AS $$ SELECT 'committed' $$`,
    "SELECT 1",
  ],
];

describe("postgresStore on PGlite", () => {
  let database: PGlite;
  const stores: ReturnType<typeof postgresStore>[] = [];
  function storeOf(options?: PostgresStoreOptions) {
    const store = postgresStore(database, { deadline: 30_000, timeout: 60_000, ...options });
    stores.push(store);
    return store;
  }
  function limiterOf(options?: PostgresStoreOptions) {
    const store = storeOf(options);
    return { store, api: limiter(ALGORITHM, { store, prefix: "api" }) };
  }
  before(async () => {
    database = await PGlite.create();
    const store = storeOf();
    await Promise.all([store.migrate(), store.migrate()]);
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });
  after(() => database.close());

  for (const law of storeLaws(() => storeOf(), { reuse: true })) {
    test(law.name, async () => await law.run(fcOptions({ numRuns: 5 })));
  }

  for (const algorithm of [BLOCKABLE[0]!, BLOCKABLE.at(-1)!]) {
    test(`blocks by hand: ${algorithm.id}`, () => lifeOfABlock(storeOf(), algorithm, "blocks"));
  }
  test("blocks are listed some at a time", () => listsMany(storeOf()));

  for (const [name, broken, mended] of FAULTS) {
    test(`${name} is an error that says so, and nothing is lost`, async () => {
      const { store, api } = limiterOf();
      const { remaining } = await api.consume("known");
      await database.exec(broken);
      const error = await api.consume(name).then(() => undefined, (error) => error);
      assert.ok(error instanceof StoreUnavailableError);
      assert.match(error.message, VERSION);
      assert.equal(error.applied, name.includes("answers") ? "unknown" : "no");
      await database.exec(mended);
      if (name.startsWith("a function")) await store.migrate();
      // Another one, because the circuit breaker of this one is open for a moment.
      const { api: other } = limiterOf();
      assert.equal((await other.peek("known", 0)).remaining, remaining);
      assert.equal((await other.peek(name, 0)).remaining, 100);
    });
  }

  test(
    "without rights an error names the rights to grant, and these are enough",
    async () => {
      await database.exec("CREATE ROLE guest; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
      await database.exec(`REVOKE EXECUTE ON FUNCTION ${COMMIT} FROM PUBLIC`);
      const rule =
        /Postgres must grant SELECT, INSERT, UPDATE and DELETE on "tidegate", and EXECUTE on "tidegate_commit_2"/;
      await database.exec("SET ROLE guest");
      try {
        await assert.rejects(limiterOf().api.consume("key"), rule);
        await assert.rejects(limiterOf().store.migrate(), /Cannot migrate as its user must own/);
        await database.exec("RESET ROLE");
        await database.exec(`GRANT EXECUTE ON FUNCTION ${COMMIT} TO guest; SET ROLE guest`);
        await assert.rejects(limiterOf().api.consume("key"), rule);
        await database.exec("RESET ROLE");
        await database.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON tidegate TO guest");
        await database.exec("SET ROLE guest");
        const { api } = limiterOf();
        assert.equal((await api.consume("key")).remaining, 99);
        assert.equal((await api.refund("key", 1)).remaining, 100);
        await api.resetPrefix();
      } finally {
        await database.exec("RESET ROLE");
      }
    },
  );

  test(
    "a server that takes no writes is an error, and its keys can still be looked at",
    async () => {
      const { api } = limiterOf();
      await api.consume("held");
      await database.exec("SET default_transaction_read_only = on");
      try {
        await assert.rejects(api.consume("held"), /Postgres must be a server that takes writes/);
      } finally {
        await database.exec("SET default_transaction_read_only = off");
      }
      assert.equal((await limiterOf().api.peek("held", 0)).remaining, 99);
    },
  );

  test(
    "another table of the same name is refused by migrate, and is left alone",
    async () => {
      await database.exec("CREATE TABLE taken (key text PRIMARY KEY, value text)");
      const { store } = limiterOf({ table: "taken" });
      await assert.rejects(store.migrate(), /Cannot migrate as "taken" .* must be free/);
      await database.exec("CREATE TABLE loose (key text, state text, fresh_at bigint)");
      await assert.rejects(
        limiterOf({ table: "loose" }).store.migrate(),
        /"loose" .* must be free/,
      );
      const { rows } = await database.query("SELECT proname FROM pg_proc WHERE proname ~ '^taken'");
      assert.deepEqual(rows, []);
    },
  );

  test(
    "a table in another schema is an error that names the schema",
    async () => {
      await limiterOf().store.migrate();
      await assert.rejects(
        limiterOf({ schema: "limits" }).api.consume("key"),
        /must have the table "limits"."tidegate" .* in the schema "limits"/,
      );
    },
  );

  test(
    "migrate changes how a table is kept only where that is asked for",
    async () => {
      const kind = async () =>
        (await database.query<{ kind: string }>(
          "SELECT relpersistence AS kind FROM pg_class WHERE relname = 'tidegate'",
        )).rows[0]!.kind;
      await limiterOf().store.migrate();
      assert.equal(await kind(), "p");
      await limiterOf({ logged: false }).store.migrate();
      assert.equal(await kind(), "u");
      await limiterOf().store.migrate();
      assert.equal(await kind(), "u");
      await limiterOf({ logged: true }).store.migrate();
      assert.equal(await kind(), "p");
    },
  );
});
