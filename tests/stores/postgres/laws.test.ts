import { after, before, describe, test } from "node:test";
import type { PGlite } from "@electric-sql/pglite";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import { postgresStore } from "../../../stores/postgres/postgres_store.ts";
import { lawsByClient } from "../../support/postgres/laws_by_client.ts";
import { startPGlite } from "../../support/postgres/start_pglite.ts";
import { withPostgres } from "../../support/postgres/with_postgres.ts";
import { fcOptions } from "../../support/seed.ts";

const PATIENT = { deadline: 30_000, timeout: 60_000 };

withPostgres("postgresStore", (server, opened) => lawsByClient(() => server().url, opened));

describe("postgresStore on PGlite", () => {
  let database: PGlite;
  before(async () => {
    database = await startPGlite();
  });
  after(() => database.close());
  const make = () => postgresStore(database, PATIENT);
  test(
    "makes its table, twice",
    async () => {
      const store = make();
      await Promise.all([store.migrate(), store.migrate()]);
      await store.close();
    },
  );
  for (const law of storeLaws(make, { reuse: true })) {
    test(law.name, async () => await law.run(fcOptions({ numRuns: 15 })));
  }
});
