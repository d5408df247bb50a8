/*
 * Receipts that several processes or threads settle at once: each is settled once, and the key then
 * holds what was used. `npm run receipts` settles 20,000 on each store.
 */
import { join } from "node:path";
import { describe, test } from "node:test";

import { sharedStore } from "../../stores/shared/shared_store.ts";
import { inFolder } from "../support/in_folder.ts";
import { settledTogether } from "../support/receipts/settled_together.ts";
import type { Place } from "../support/open_store.ts";
import { startRedis } from "../support/redis/redis_process.ts";
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

for (const kind of kinds) {
  describe(`${kind}: receipts that three settle at once`, () => {
    test(
      "are settled once",
      inShare(kinds, kind, () => PLACES[kind]!(settledTogether)),
    );
  });
}
