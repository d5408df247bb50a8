/*
 * Through PgBouncer in transaction mode, by each client: each statement may get another connection. Run by
 * `npm run postgres`.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { gcra, limiter } from "../../../mod.ts";
import { CLIENTS } from "../../support/postgres/clients_of.ts";
import { lawsByClient } from "../../support/postgres/laws_by_client.ts";
import { type PgBouncer, startPgBouncer } from "../../support/postgres/pg_bouncer.ts";
import { withPostgres } from "../../support/postgres/with_postgres.ts";

withPostgres("through PgBouncer in transaction mode", (postgres, opened) => {
  let pooler: PgBouncer | undefined;
  before(async () => {
    pooler = await startPgBouncer(postgres().port);
  });
  after(async () => await pooler?.stop());

  lawsByClient(() => pooler!.url, opened);

  test("clients of all kinds share a limit", async () => {
    const clients = Object.values(CLIENTS).map((clientOf) => clientOf(pooler!.url));
    const limiters = clients.map(([client]) =>
      limiter(gcra({ limit: 60, period: "365d", burst: 60 }), {
        store: opened.storeOf({}, client),
        prefix: "shared",
      })
    );
    const answers = await Promise.all(
      Array.from({ length: 120 }, async (_, call) => {
        // Apart, so that they are not all in one batch.
        await new Promise((resolve) => setTimeout(resolve, call % 20));
        return await limiters[call % limiters.length]!.consume("key");
      }),
    );
    assert.equal(answers.filter(({ allowed }) => allowed).length, 60);
    for (const [, end] of clients) opened.atEnd(end);
  });
});
