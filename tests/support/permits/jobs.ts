import {
  type AsyncLimiter,
  type AsyncStore,
  concurrency,
  limiter,
  type Store,
} from "../../../mod.ts";
import { lease } from "../../../stores/layered/layered.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { attachSharedStore, type SharedStoreHandle } from "../../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { newClient } from "../redis/new_client.ts";

/** Where permits are, and whether each holder has a share of them. */
export type Place =
  & { readonly hasShares?: boolean }
  & (
    | { readonly kind: "redis"; readonly url: string }
    | { readonly kind: "sqlite"; readonly path: string }
    | { readonly kind: "shared"; readonly handle: SharedStoreHandle }
  );

/** Units of the key that all of them hold. */
export const LIMIT = 3;
/** Longer than any pause of a machine that is busy, because a holder that sleeps loses its permit. */
export const TTL = 3_000;
/** Holders in each process or thread. */
export const LANES = 4;
/** A limiter of permits, whose clock is ahead by some milliseconds. */
export function jobsOn(store: Store, shift: number = 0): AsyncLimiter<"permits"> {
  const algorithm = concurrency({ limit: LIMIT, ttl: TTL });
  const clock = shift === 0 ? undefined : () => Date.now() + shift;
  const options = { store: store as AsyncStore, prefix: "jobs", clock };
  return limiter(algorithm, options);
}

/** Opens the store of a place, as a holder does. */
export function storeOfHolder(place: Place): Store {
  const store = storeAt(place);
  return place.hasShares ? lease(store, { units: 2, ttl: 5 }) : store;
}

/** Opens the store of a place. */
export function storeAt(place: Place): Store {
  switch (place.kind) {
    case "redis":
      return redisStore(newClient(place.url), { deadline: 10_000, timeout: 30_000 });
    case "sqlite":
      return sqliteStore(place.path, { timeout: 10_000 });
    case "shared":
      return attachSharedStore(place.handle);
  }
}
