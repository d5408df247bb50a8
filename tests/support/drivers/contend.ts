import type { AsyncStore, StoreBase } from "../../../core/store.ts";
import { ContentionError } from "../../../core/errors.ts";
import { consumeAll, gcra, limiter } from "../../../mod.ts";

/** How often a process was admitted. */
export interface Report {
  readonly one: number;
  readonly many: number;
  readonly pairs: number;
  readonly conflicts: number;
}

/** A store that may count lost races. */
type CountingStore = StoreBase & { statistics(): object };

/**
 * Takes from one key, from many keys and from two keys at once, in both orders, beside other processes
 * that do the same: a fifth more calls than all of them together may be admitted.
 *
 * @param store The store that they share.
 * @param limit The limit of each key.
 * @param processes How many there are.
 * @param prefix The beginning of the limiters' prefixes.
 */
export async function contend(
  store: CountingStore,
  limit: number,
  processes: number,
  prefix: string = "",
): Promise<Report> {
  const algorithm = gcra({ limit, period: "365d", burst: limit });
  const limiterOf = (name: string) =>
    limiter(algorithm, { store: store as unknown as AsyncStore, prefix: `${prefix}${name}` });
  const [one, many, pairs] = [limiterOf("one"), limiterOf("many"), limiterOf("pairs")];
  const offered = limit / processes * 1.2;
  return {
    one: await admissions(offered, () => one.consume("key")),
    many: await admissions(offered * 20, (call) => many.consume(`key ${call % 20}`)),
    pairs: await admissions(offered, async (call) => {
      const keys = call % 2 === 0 ? ["a", "b"] : ["b", "a"];
      const { allowed } = await consumeAll(keys.map((key) => ({ limiter: pairs, key })));
      return { allowed };
    }),
    conflicts: (store.statistics() as { conflicts?: number }).conflicts ?? 0,
  };
}

async function admissions(
  calls: number,
  take: (call: number) => Promise<{ readonly allowed: boolean }>,
): Promise<number> {
  let next = 0;
  let admitted = 0;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (next < calls) if (await patiently(() => take(next++))) admitted++;
  }));
  return admitted;
}

async function patiently(take: () => Promise<{ readonly allowed: boolean }>): Promise<boolean> {
  try {
    return (await take()).allowed;
  } catch (error) {
    // Nothing was charged: it is as if the call had not been made.
    if (error instanceof ContentionError) return patiently(take);
    throw error;
  }
}

/** Waits until as many processes are ready as there should be. */
export async function whenAllAreReady(
  countReady: () => Promise<number>,
  processes: number,
): Promise<void> {
  while (await countReady() < processes) await new Promise((resolve) => setTimeout(resolve, 5));
}
