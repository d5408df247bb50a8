import { PGlite } from "@electric-sql/pglite";
import assert from "node:assert/strict";
import * as mod from "tidegate";
import { postgresStore } from "tidegate/postgres";
import * as stores from "tidegate/stores";

import { behavioursOf } from "./behaviour.mjs";

/** The behaviours of the installed package, and one more on Postgres. */
export const behaviours = {
  ...behavioursOf({ ...mod, ...stores }),
  "Postgres answers meanwhile": async (/** @type {import("./behaviour.mjs").Fakes} */ fakes) => {
    const database = new PGlite();
    const store = postgresStore(database);
    await store.migrate();
    fakes.install();
    try {
      const algorithm = mod.gcra({ limit: 1, period: "10s", burst: 1 });
      const api = mod.limiter(algorithm, { store, prefix: "api" });
      const decisions = [await api.consume("a"), await api.consume("a")];
      assert.deepEqual(decisions.map(({ allowed }) => allowed), [true, false]);
    } finally {
      fakes.restore();
      await store.close();
      await database.close();
    }
  },
};
