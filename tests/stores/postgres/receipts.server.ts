import { test, type TestContext } from "node:test";

import { settledTogether } from "../../support/receipts/settled_together.ts";
import { withPostgres } from "../../support/postgres/with_postgres.ts";

withPostgres("receipts that three processes settle at once", (postgres) => {
  test("are settled once", async (context) => {
    const settled = await settledTogether({ kind: "postgres", url: postgres().url });
    (context as TestContext).diagnostic(`${settled} receipts, 0 twice`);
  });
});
