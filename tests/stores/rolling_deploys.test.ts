/*
 * A deploy that raises a limit: for a while some processes have the old limit, and others the new one.
 * All count on the same keys, so together they admit no more than the larger limit.
 */
import { describe, test } from "node:test";

import { memoryStore, type Store } from "../../mod.ts";
import { sharedStore } from "../../stores/shared/shared_store.ts";
import { deployedLimiters, useUp } from "../support/rolling/deployed.ts";
import { deployedTogether, expectShared, LIMITS } from "../support/rolling/deployed_together.ts";
import { PLACES } from "../support/places.ts";
import { drawn } from "../support/seed.ts";

describe("two limits on the same keys admit no more than the larger one", () => {
  for (const kind of drawn(Object.keys(PLACES))) {
    test(kind, () => PLACES[kind]!(deployedTogether));
  }

  const stores: Readonly<Record<string, () => Store>> = {
    memory: () => memoryStore(),
    "shared, in one thread": () => sharedStore({ capacity: 2_000 }),
  };
  for (const [name, make] of Object.entries(stores)) {
    test(name, async () => {
      const store = make();
      const each = LIMITS.map((limit) => useUp(deployedLimiters(store, limit), ["a", "b"]));
      expectShared(await Promise.all(each));
      await store.close();
    });
  }
});
