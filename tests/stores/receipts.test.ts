/*
 * Receipts that several processes or threads settle at once: each is settled once, and the key then
 * holds what was used. `npm run receipts` settles 20,000 on each store.
 */
import { test } from "node:test";

import { settledTogether } from "../support/receipts/settled_together.ts";
import { PLACES } from "../support/places.ts";
import { drawn } from "../support/seed.ts";

for (const kind of drawn(Object.keys(PLACES))) {
  test(`${kind}: receipts that several settle at once are settled once`, () =>
    PLACES[kind]!(settledTogether));
}
