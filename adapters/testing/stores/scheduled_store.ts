/*
 * Stores whose asynchronous steps fast-check interleaves, and the laws of such stores. Races that
 * take luck to hit on a real server become reproducible, and shrink.
 */

import fc from "fast-check";
import type { AsyncStore, SyncStore } from "../../../core/store.ts";
import { wrapStore } from "../../../core/wrap_store.ts";
import { algorithms, subjectArbitrary, type Subjects } from "../arbitraries/subjects.ts";
import { type Law, law } from "../law.ts";
import { expectOrder, races } from "../laws/race_laws.ts";
import { origins, withKeys } from "../laws/store_fixture.ts";

/**
 * A store that answers by promises, in an order that fast-check chooses: for testing code that is
 * built on such stores. A request takes effect at one moment, between being sent and being
 * answered.
 *
 * @param store The store that decides.
 * @param scheduler fast-check's, from `fc.scheduler()`.
 *
 * @example
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { scheduledStore } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * await fc.assert(fc.asyncProperty(fc.scheduler(), async (scheduler) => {
 *   const store = scheduledStore(memoryStore(), scheduler);
 *   const api = limiter(gcra({ limit: 2, period: "1h", burst: 2 }), { store, prefix: "api" });
 *   const calls = Promise.all(["a", "a", "a"].map((key) => api.consume(key)));
 *   const answers = await scheduler.waitFor(calls);
 *   return answers.filter(({ allowed }) => allowed).length === 2;
 * }), { numRuns: 10 });
 * ```
 */
export function scheduledStore(store: SyncStore, scheduler: fc.Scheduler): AsyncStore {
  async function scheduled<Answer>(label: string, take: () => Answer): Promise<Answer> {
    await scheduler.schedule(Promise.resolve(), label);
    const answer = take();
    await scheduler.schedule(Promise.resolve(), `${label}, answered`);
    return answer;
  }
  return wrapStore(store, {
    call: ({ verb, call }) => (key, argument, now) =>
      scheduled(`${verb.name} ${verb.units(argument)} of ${key}`, () => call(key, argument, now)),
    run: (operations, now) =>
      scheduled(
        operations.map(({ bound: { verb }, key, argument }) =>
          `${verb.name} ${verb.units(argument)} of ${key}`
        ).join(", "),
        () => store.run(operations, now),
      ),
    delete: (family, key) => scheduled<void>(`delete ${key}`, () => family.delete(key) as void),
    // Not scheduled: a test closes its store after the last step that the scheduler runs.
    close: () => store[Symbol.asyncDispose](),
  }) as AsyncStore;
}

/**
 * The laws of a store whose steps fast-check interleaves: calls that overlap are answered as if
 * they came one after the other in some order, whatever the order of the store's own steps.
 *
 * @param makeStore Makes a store which schedules each of its steps (a command sent, an answer
 * received) by the scheduler: `scheduler.schedule(promise)` or `scheduler.scheduleFunction(f)`.
 * @param options `subjects`: the algorithms to run.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { scheduledStore, scheduledStoreLaws } from "tidegate/testing";
 *
 * const laws = scheduledStoreLaws((scheduler) => scheduledStore(memoryStore(), scheduler));
 * for (const law of laws) await law.run({ numRuns: 5 });
 * ```
 */
export function scheduledStoreLaws(
  makeStore: (scheduler: fc.Scheduler) => AsyncStore | Promise<AsyncStore>,
  options: { readonly subjects?: Subjects | undefined } = {},
): readonly Law[] {
  const { subjects = algorithms() } = options;
  const drawn = [fc.scheduler(), subjectArbitrary(subjects), origins(), races()] as const;
  return [
    law(
      "in every interleaving, calls that overlap are answered as if they came in some order",
      fc.asyncProperty(...drawn, async (scheduler, subject, now, waves) => {
        const store = await makeStore(scheduler);
        const run = withKeys(store, [subject], ["key"], now, (at) => expectOrder(at, waves));
        await scheduler.waitFor(run);
        await store.close();
      }),
    ),
  ];
}
