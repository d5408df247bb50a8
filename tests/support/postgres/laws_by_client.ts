import { describe, test } from "node:test";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import { type PostgresClient, postgresStore } from "../../../stores/postgres/postgres_store.ts";
import { fcOptions } from "../seed.ts";
import { CLIENTS } from "./clients_of.ts";
import type { Opened } from "./with_postgres.ts";

/** The laws of stores, by a client of each kind. The first also watches the writes. */
export function lawsByClient(
  url: () => string,
  { sql, atEnd }: Pick<Opened, "sql" | "atEnd">,
): void {
  for (const [name, clientOf] of Object.entries(CLIENTS)) {
    describe(name, () => {
      let client: PostgresClient | undefined;
      function make() {
        if (client === undefined) {
          const [made, end] = clientOf(url());
          atEnd(end);
          client = made;
        }
        return postgresStore(client, { deadline: 30_000, timeout: 60_000 });
      }
      const isFirst = name === "a pool of pg";
      const options = isFirst ? { reuse: true, writes: () => writesTo(sql) } : { reuse: true };
      for (const law of storeLaws(make, options)) {
        test(law.name, () => law.run(fcOptions({ numRuns: isFirst ? 5 : 2 })));
      }
    });
  }
}

/** A number that changes whenever a row of the table does: the transactions that wrote its rows. */
async function writesTo(sql: Opened["sql"]): Promise<number> {
  const [row] = await sql(`
    SELECT count(*) + coalesce(sum(xmin::text::bigint * 3 + xmax::text::bigint), 0) AS written
    FROM tidegate`);
  return Number(row!["written"]);
}
