import pg from "pg";

import type { Store } from "../../mod.ts";
import { postgresStore } from "../../stores/postgres/postgres_store.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { type Place as PermitPlace, storeAt } from "./permits/jobs.ts";
import { newClient } from "./redis/new_client.ts";

/** Where keys are that several processes or threads use at once. */
export type Place =
  | Extract<PermitPlace, { readonly kind: "sqlite" | "shared" }>
  | {
    readonly kind: "redis";
    readonly url: string;
    readonly commit: "script" | "cas" | "watch";
  }
  | { readonly kind: "postgres"; readonly url: string };

/** A store at a place, with limits that a slow machine does not reach, and a way to close it. */
export function openStore(place: Place): { store: Store; close(): Promise<unknown> } {
  const patience = { deadline: 30_000, timeout: 60_000 };
  if (place.kind === "postgres") {
    const pool = new pg.Pool({ connectionString: place.url, max: 4 });
    const store = postgresStore(pool, patience);
    return { store, close: async () => void (await store.close(), await pool.end()) };
  }
  const store = place.kind === "redis"
    ? redisStore(newClient(place.url), { ...patience, commit: place.commit })
    : storeAt(place);
  return { store, close: async () => await store.close() };
}
