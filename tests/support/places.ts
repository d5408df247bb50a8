import { join } from "node:path";

import { sharedStore } from "../../stores/shared/shared_store.ts";
import { inFolder } from "./in_folder.ts";
import type { Place } from "./open_store.ts";
import { startRedis } from "./redis/redis_process.ts";

/** Uses a store that several processes or threads can open. */
type Use = (place: Place) => Promise<void>;

/** Stores of several processes or threads, each for as long as its use takes. */
export const PLACES: Readonly<Record<string, (use: Use) => Promise<void>>> = {
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

async function onRedis(commit: "script" | "cas" | "watch", use: Use): Promise<void> {
  const server = await startRedis();
  await use({ kind: "redis", url: server.url, commit }).finally(() => server.stop());
}
