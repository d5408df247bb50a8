import { test } from "node:test";

import { deployedTogether } from "../../support/rolling/deployed_together.ts";
import { withPostgres } from "../../support/postgres/with_postgres.ts";

withPostgres("two limits on the same keys", (postgres) => {
  test(
    "admit no more than the larger one",
    () => deployedTogether({ kind: "postgres", url: postgres().url }),
  );
});
