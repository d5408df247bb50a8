import type { Store } from "../../mod.ts";
import type { SharedStoreHandle } from "../../stores/shared/shared_store.ts";

/** Where keys are that several processes or threads use at once. */
export type Place =
  | {
    readonly kind: "redis";
    readonly url: string;
    readonly commit?: "script" | "cas" | "watch";
  }
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "shared"; readonly handle: SharedStoreHandle }
  | { readonly kind: "postgres"; readonly url: string };

/** A store that was opened, and all that was opened for it. */
export interface OpenStore extends AsyncDisposable {
  readonly store: Store;
  close(): Promise<unknown>;
}

const PATIENCE = { deadline: 30_000, timeout: 60_000 } as const;

/**
 * Opens the store of a place, with limits that a slow machine does not reach. It loads nothing of other
 * places, because a client of Redis or Postgres takes as much time to load as all else of a process.
 */
export async function openStore(place: Place): Promise<OpenStore> {
  switch (place.kind) {
    case "redis": {
      const { redisStore } = await import("../../stores/redis/redis_store.ts");
      const { newClient } = await import("./redis/new_client.ts");
      const { url, commit } = place;
      return opened(redisStore(newClient(url), { ...PATIENCE, ...commit && { commit } }));
    }
    case "sqlite": {
      const { sqliteStore } = await import("../../stores/sqlite/sqlite_store.ts");
      return opened(sqliteStore(place.path, { timeout: 10_000 }));
    }
    case "shared": {
      const { attachSharedStore } = await import("../../stores/shared/shared_store.ts");
      return opened(attachSharedStore(place.handle));
    }
    case "postgres": {
      const { default: pg } = await import("pg");
      const { postgresStore } = await import("../../stores/postgres/postgres_store.ts");
      const pool = new pg.Pool({ connectionString: place.url, max: 4 });
      return opened(postgresStore(pool, PATIENCE), () => pool.end());
    }
  }
}

function opened(store: Store, end: () => unknown = () => {}): OpenStore {
  const close = async () => {
    await store.close();
    await end();
  };
  return { store, close, [Symbol.asyncDispose]: close };
}
