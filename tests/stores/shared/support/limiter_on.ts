import { type Algorithm, consumeAll, gcra, type Limiter, limiter } from "../../../../mod.ts";
import type { SyncStore } from "../../../../core/store.ts";

/** The instant of all calls: their clock stands still. */
export const NOW = 1_790_000_000_000;

/** Five calls an hour. */
export const five: Algorithm = gcra({ limit: 5, period: "1h", burst: 5 }) as Algorithm;

/** A limiter on a store, by a clock that stands still without another one. */
export function limiterOn(
  store: SyncStore,
  algorithm: Algorithm = five,
  clock: () => number = () => NOW,
): Limiter {
  return limiter(algorithm, { store, prefix: "test", clock });
}

/** Takes from several keys at once. */
export function consumeKeys(api: Limiter, ...keys: readonly string[]): boolean {
  return consumeAll(keys.map((key) => ({ limiter: api, key }))).allowed;
}
