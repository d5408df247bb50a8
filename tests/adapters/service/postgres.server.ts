/*
 * The service with its counters in Postgres. Run by `npm run postgres`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { withPostgres } from "../../support/postgres/with_postgres.ts";
import { oneRule, post, withService } from "./support/running.ts";

const asking = { entries: { user: "42" } };
const rules = oneRule("user", 10);

withPostgres("tidegate serve on Postgres", (postgres, { sql }) => {
  test("makes its table; counters survive a restart, threads and services share them", async () => {
    await sql("DROP TABLE tidegate");
    const options = { rules, postgres: { url: postgres().url } };
    let admitted = 0;
    const ask = async (service: { url: string }) => {
      if ((await post(service, "/v1/consume", asking)).body.allowed) admitted++;
    };
    await withService(async (service) => {
      for (let call = 0; call < 4; call++) await ask(service);
    }, options);
    await withService(async (service) => {
      await withService(async (other) => {
        for (let call = 0; call < 5; call++) await Promise.all([ask(service), ask(other)]);
      }, options);
    }, { ...options, threads: 2 });
    assert.equal(admitted, 10);
    const [row] = await sql(
      "SELECT count(*)::integer AS others FROM pg_stat_activity WHERE state = 'idle' AND query ~ 'commit_1'",
    );
    assert.equal(row!["others"], 0, "connections are left open");
  });
});
