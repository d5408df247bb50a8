import { after, describe, test } from "node:test";
import { PGlite } from "@electric-sql/pglite";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import { type PostgresClient, postgresStore } from "../../../stores/postgres/postgres_store.ts";
import { CLIENTS } from "../../support/postgres/clients_of.ts";
import { type Opened, withPostgres } from "../../support/postgres/with_postgres.ts";
import { fcOptions } from "../../support/seed.ts";

const PATIENT = { deadline: 30_000, timeout: 60_000 };

withPostgres("postgresStore", (server, { sql, atEnd }) => {
  for (const [name, clientOf] of Object.entries(CLIENTS)) {
    describe(name, () => {
      let client: PostgresClient | undefined;
      function make() {
        if (client === undefined) {
          const [made, end] = clientOf(server().url);
          atEnd(end);
          client = made;
        }
        return postgresStore(client, PATIENT);
      }
      const isFirst = name === "a pool of pg";
      const options = isFirst ? { reuse: true, writes: () => writesTo(sql) } : { reuse: true };
      for (const law of storeLaws(make, options)) {
        test(law.name, () => law.run(fcOptions({ numRuns: isFirst ? 5 : 2 })));
      }
    });
  }
});

/** A number that changes whenever a row of the table does: the transactions that wrote its rows. */
async function writesTo(sql: Opened["sql"]): Promise<number> {
  const [row] = await sql(`
    SELECT count(*) + coalesce(sum(xmin::text::bigint * 3 + xmax::text::bigint), 0) AS written
    FROM tidegate`);
  return Number(row!.written);
}

describe("postgresStore on PGlite", () => {
  const database = new PGlite();
  after(() => database.close());
  const make = () => postgresStore(database, PATIENT);
  test("makes its table, twice", async () => {
    const store = make();
    await Promise.all([store.migrate(), store.migrate()]);
    await store.close();
  });
  for (const law of storeLaws(make, { reuse: true })) {
    test(law.name, () => law.run(fcOptions({ numRuns: 5 })));
  }
});
