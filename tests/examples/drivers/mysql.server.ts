import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";

import { reportOf } from "../../../.ci/report_of.mjs";
import { driverLaws, storeLaws } from "../../../adapters/testing/testing.ts";
import { mysql, MYSQL_TABLE } from "../../../examples/drivers/mysql.ts";
import { gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import { compareAndSetStore } from "../../../stores/stores.ts";
import type { Report } from "../../support/drivers/contend.ts";
import { type MariadbProcess, startMariadb } from "../../support/mariadb/mariadb_process.ts";
import { fcOptions } from "../../support/seed.ts";

const CONTENDER = new URL("../../support/mariadb/contender.ts", import.meta.url);
const LIMIT = 200;
const PATIENT = { deadline: 30_000, timeout: 60_000 };

// `npm run drivers` starts a MariaDB, `npm test` does not.
describe("the driver of MySQL", onMariadb);

function onMariadb(): void {
  let mariadb: MariadbProcess | undefined;
  let pool: Pool | undefined;
  const url = () => `${mariadb!.url}/tidegate`;

  before(async () => {
    mariadb = await startMariadb();
    const first = createPool(mariadb.url);
    await first.query("CREATE DATABASE tidegate");
    await first.end();
    pool = createPool({ uri: url(), multipleStatements: true, connectionLimit: 8 });
    await pool.query(MYSQL_TABLE);
  });
  after(async () => {
    await pool?.end();
    await mariadb?.stop();
  });

  for (const law of driverLaws(() => mysql(pool!))) {
    test(law.name, () => law.run(fcOptions({ numRuns: 5 })));
  }
  const make = () => compareAndSetStore(mysql(pool!), PATIENT);
  for (const law of storeLaws(make, { reuse: true, writes: () => writesOf(pool!) })) {
    test(law.name, () => law.run(fcOptions({ numRuns: 5 })));
  }

  test("four processes are admitted exactly as often as the limit says", async () => {
    await pool!.query("CREATE TABLE ready (one integer)");
    const args = [url(), String(LIMIT), "4"];
    const reports: Report[] = await Promise.all(
      Array.from({ length: 4 }, () => reportOf(CONTENDER, args)),
    );
    const sum = (name: keyof Report) => reports.reduce((sum, report) => sum + report[name], 0);
    assert.deepEqual([sum("one"), sum("many"), sum("pairs")], [LIMIT, 20 * LIMIT, LIMIT]);
    assert.ok(sum("conflicts") > 0, "no two processes ever met on a key");
  });

  test("a quotation mark in a key ends no statement, whatever the SQL mode is", async () => {
    const store = compareAndSetStore(mysql(pool!), PATIENT);
    const api = limiter(gcra({ limit: 1, period: "365d", burst: 1 }), { store, prefix: "marks" });
    await pool!.query("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
    for (const key of ["'; DROP TABLE tidegate; --", "\\'; DROP TABLE tidegate; --"]) {
      assert.equal((await api.consume(key)).allowed, true);
      assert.equal((await api.consume(key)).allowed, false);
    }
    await store.close();
  });

  test("a table that is missing, and a server that is not there, are reported as such", async () => {
    await pool!.query("CREATE DATABASE empty");
    for (const uri of [`${mariadb!.url}/empty`, "mysql://root@127.0.0.1:1/empty"]) {
      const other = createPool({ uri, multipleStatements: true });
      const store = compareAndSetStore(mysql(other), PATIENT);
      const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), { store, prefix: "missing" });
      await assert.rejects(api.consume("key"), (error) => {
        assert.ok(error instanceof StoreUnavailableError);
        assert.match((error.cause as Error).message, /empty\.tidegate|There is no connection/);
        return error.applied === "no";
      });
      await store.close();
      await other.end();
    }
  });
}

/** A number that changes whenever a row does. */
async function writesOf(pool: Pool): Promise<number> {
  const [[row]] = await pool.query<RowDataPacket[]>(
    "SELECT SUM(variable_value) AS writes FROM information_schema.global_status WHERE " +
      "variable_name IN ('innodb_rows_inserted', 'innodb_rows_updated', 'innodb_rows_deleted')",
  );
  return Number(row!["writes"]);
}
