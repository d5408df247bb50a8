/*
 * A store on a database whose driver compares and sets.
 */

import { checkFunction, checkOptions } from "../../core/options/checks.ts";
import type { AsyncStore } from "../../core/store.ts";
import type { CompareAndSet } from "../driver.ts";
import { driverKeyNamer } from "../driver_keys.ts";
import { deleteTexts, listTexts } from "../driver_texts.ts";
import { batcher } from "./batcher.ts";
import { circuitBreaker, untilProbe } from "./circuit_breaker.ts";
import { type DriverStoreOptions, ENGINE_CHECKS, engineOptions } from "./engine_options.ts";
import { failedJobs } from "./failed_jobs.ts";
import { connectDriver, type DriverContext, type DriverCounters } from "./guessed_commit.ts";
import { outageReport } from "./outage_report.ts";
import { optimisticStore } from "./optimistic_store.ts";
import { reconnector } from "./reconnector.ts";
import { serverClock } from "./server_clock.ts";
import { serverCounters, type ServerStoreStatistics } from "./server_statistics.ts";
import { sweeper } from "./sweeper.ts";
import { valueCache } from "./value_cache.ts";

/** Counts of a store on a driver since it was made. */
export interface DriverStoreStatistics extends ServerStoreStatistics {
  /** Calls of the driver's `commit`. */
  readonly commits: number;
  /** The total seconds of these commits. */
  readonly commitSeconds: number;
}

/** A store on a driver. */
export interface DriverStore extends AsyncStore {
  /** Its counts; constant time. */
  statistics(): DriverStoreStatistics;
}

/**
 * Makes a store on a driver that compares and sets. Calls that arrive while a commit is under way
 * share the next one. Many calls on one key are one write, and a refusal writes nothing.
 *
 * @param driver Compares and sets on the database. The store closes it.
 * @param options Time limits, and the treatment of failures.
 * @throws {TypeError} If an option is of the wrong type, or the driver has no `commit`.
 * @throws {RangeError} If an option is out of range.
 *
 * @example A driver on a map
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { compareAndSetStore } from "tidegate/stores";
 * import assert from "node:assert/strict";
 *
 * const texts = new Map<string, string>();
 * const textOf = (key: string) => texts.get(key) ?? "";
 * const store = compareAndSetStore({
 *   name: "The map",
 *   commit(groups) {
 *     const lost = groups.flatMap((cells, group) => {
 *       if (cells.every(({ key, held }) => textOf(key) === held)) {
 *         for (const { key, next } of cells) texts.set(key, next);
 *         return [];
 *       }
 *       return [{ group, held: cells.map(({ key }) => textOf(key)) }];
 *     });
 *     return Promise.resolve({ now: Date.now(), lost });
 *   },
 * });
 * const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), { store, prefix: "api" });
 * assert.equal((await api.consume("user:42")).allowed, true);
 * assert.equal((await api.consume("user:42")).allowed, false);
 * await store.close();
 * ```
 */
export function compareAndSetStore(
  driver: CompareAndSet,
  options: DriverStoreOptions = {},
): DriverStore {
  const action = "create compareAndSetStore";
  checkFunction(action, "the driver's commit", (driver as Partial<CompareAndSet> | null)?.commit);
  checkOptions<DriverStoreOptions>(action, options, ENGINE_CHECKS);
  const given = engineOptions(options);
  const counters: DriverCounters = { ...serverCounters(), commits: 0, commitSeconds: 0 };
  const breaker = circuitBreaker(outageReport(driver.name, given));
  const sweep = sweeper(driver);
  const context: DriverContext = {
    ...given,
    values: valueCache(given.cacheBytes),
    clock: serverClock(),
    counters,
    afterBatch: sweep.afterBatch,
    ...failedJobs(driver.name, given, counters, () => untilProbe(breaker)),
  };
  const server = reconnector(connectDriver(driver, context, breaker), context, breaker);
  const calls = batcher(server, (jobs, error) => context.failJobs(jobs, "no", error));

  return {
    ...optimisticStore({
      name: `store on ${driver.name}`,
      router: {
        slotOf: () => 0,
        submit: calls.submit,
        async close() {
          calls.close();
          await sweep.close();
          await driver.close?.();
        },
      },
      namer: driverKeyNamer,
      deleteAll: driver.deletePrefix && (async (prefix) => await deleteTexts(driver, prefix)),
      list: driver.list && ((prefix, algorithm) => listTexts(driver, prefix, algorithm)),
    }),
    statistics: () => ({ ...counters }),
  };
}
