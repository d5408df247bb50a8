/*
 * A deploy that raises a limit: for a while some processes have the old limit, and others the new one.
 * All count on the same keys, so together they admit no more than the larger limit.
 */
import { join } from "node:path";
import { describe, test } from "node:test";

import { memoryStore, type Store } from "../../mod.ts";
import { sharedStore } from "../../stores/shared/shared_store.ts";
import { inFolder } from "../support/in_folder.ts";
import type { Place } from "../support/open_store.ts";
import { startRedis } from "../support/redis/redis_process.ts";
import { deployedLimiters, useUp } from "../support/rolling/deployed.ts";
import { deployedTogether, expectShared } from "../support/rolling/deployed_together.ts";
import { inShare } from "../support/seed.ts";

type Use = (place: Place) => Promise<void>;

const PLACES: Readonly<Record<string, (use: Use) => Promise<void>>> = {
  "redis, script": (use) => onRedis("script", use),
  "redis, cas": (use) => onRedis("cas", use),
  "redis, watch": (use) => onRedis("watch", use),
  async sqlite(use) {
    await inFolder((folder) => use({ kind: "sqlite", path: join(folder, "keys.db") }));
  },
  async shared(use) {
    const store = sharedStore({ capacity: 2_000, threads: 16 });
    await use({ kind: "shared", handle: store.handle }).finally(() => store.close());
  },
};
const kinds = Object.keys(PLACES);

async function onRedis(commit: "script" | "cas" | "watch", use: Use): Promise<void> {
  const server = await startRedis();
  await use({ kind: "redis", url: server.url, commit }).finally(() => server.stop());
}

describe("two limits on the same keys admit no more than the larger one", () => {
  for (const kind of kinds) {
    test(kind, inShare(kinds, kind, () => PLACES[kind]!(deployedTogether)));
  }

  const stores: Readonly<Record<string, () => Store>> = {
    memory: () => memoryStore(),
    "shared, in one thread": () => sharedStore({ capacity: 2_000 }),
  };
  for (const [name, make] of Object.entries(stores)) {
    test(name, async () => {
      const store = make();
      const each = [20, 40, 20].map((limit) => useUp(deployedLimiters(store, limit), ["a", "b"]));
      expectShared(await Promise.all(each));
      await store.close();
    });
  }
});
