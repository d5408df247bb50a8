import assert from "node:assert/strict";
import { test } from "node:test";

import { reportOf } from "../../../.ci/report_of.mjs";
import { gcra, limiter } from "../../../mod.ts";
import type { Report } from "../../support/drivers/contend.ts";
import { lawsByClient } from "../../support/postgres/laws_by_client.ts";
import { withPostgres } from "../../support/postgres/with_postgres.ts";

const CONTENDER = new URL("../../support/postgres/contender.ts", import.meta.url);
const LIMIT = 400;

withPostgres("postgresStore", (server, opened) => lawsByClient(() => server().url, opened));

withPostgres("4 processes", (postgres, { sql, storeOf, poolOf }) => {
  test("are admitted exactly as often as the limit says, and never lock each other out", async () => {
    await sql("CREATE TABLE ready (one integer)");
    const args = [postgres().url, String(LIMIT), "4"];
    const reports: Report[] = await Promise.all(
      Array.from({ length: 4 }, () => reportOf(CONTENDER, args)),
    );
    const sum = (name: keyof Report) => reports.reduce((sum, report) => sum + report[name], 0);
    assert.deepEqual([sum("one"), sum("many"), sum("pairs")], [LIMIT, 20 * LIMIT, LIMIT]);
    assert.ok(sum("conflicts") > 0, "no two processes ever met on a key");
    const [row] = await sql("SELECT sum(deadlocks)::integer AS deadlocks FROM pg_stat_database");
    assert.equal(row!["deadlocks"], 0);
  });

  for (const isolation of ["repeatable read", "serializable"]) {
    test(`at ${isolation} too, by trying again`, async () => {
      const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
      const stores = [1, 2].map(() => storeOf({}, poolOf({ options })));
      const algorithm = gcra({ limit: 60, period: "365d", burst: 60 });
      const limiters = stores.map((store) => limiter(algorithm, { store, prefix: isolation }));
      const answers = await Promise.all(
        Array.from({ length: 100 }, async (_, call) => {
          // Apart, so that they are not all in one batch.
          await new Promise((resolve) => setTimeout(resolve, call % 10));
          return await limiters[call % 2]!.consume("key");
        }),
      );
      assert.equal(answers.filter(({ allowed }) => allowed).length, 60);
    });
  }

  test("a refusal, a look and a call of several keys that is refused write nothing", async () => {
    const store = storeOf();
    const api = limiter(gcra({ limit: 1, period: "365d", burst: 1 }), { store, prefix: "refused" });
    await api.consume("key");
    await api.peek("other");
    const place = async () =>
      (await sql("SELECT pg_current_wal_insert_lsn()::text AS place"))[0]!["place"];
    await sql("CHECKPOINT");
    const before = await place();
    const again = await place();
    for (let call = 0; call < 20; call++) assert.equal((await api.consume("key")).allowed, false);
    await api.peek("key");
    assert.equal(before, again, "something else writes to the log");
    assert.equal(await place(), before);
  });
});
