import { test } from "node:test";

import { settledTogether } from "../../support/receipts/settled_together.ts";
import { withPostgres } from "../../support/postgres/with_postgres.ts";

withPostgres("receipts that three processes settle at once", (postgres) => {
  test("are settled once", () => settledTogether({ kind: "postgres", url: postgres().url }));
});
