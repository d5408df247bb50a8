/*
 * Assembles the laws of stores from `laws/` for `tidegate/testing`: every store
 * in this library, and every store that a user writes, is held to the same suite.
 */

import { checkFunction, checkOptions } from "../../core/options/checks.ts";
import type { Store } from "../../core/store.ts";
import type { Law } from "./law.ts";
import { raceLaws } from "./laws/race_laws.ts";
import { receiptStoreLaw } from "./laws/receipt_store_law.ts";
import { closing, type MakeStore, storeFixture } from "./laws/store_fixture.ts";
import { traceLaws, writeLaw } from "./laws/trace_laws.ts";
import { closingLaw, upkeepLaws } from "./laws/upkeep_laws.ts";
import { algorithms, subjectArbitrary, type Subjects } from "./arbitraries/subjects.ts";

/** The options of the laws of a store. */
export interface StoreLawsOptions {
  /**
   * Whether one store serves all cases of a law, for stores that are slow to make. Each case has
   * keys of its own and deletes them; `run` closes the store. Without it each case has its own.
   */
  readonly reuse?: boolean | undefined;
  /** The algorithms to run; those that the store does not accept are skipped. */
  readonly subjects?: Subjects | undefined;
  /** How often the store has written so far; adds the law that a refusal writes nothing. */
  readonly writes?: ((store: Store) => number | Promise<number>) | undefined;
}

/**
 * The laws that every store keeps, for stores that answer at once and by promises alike: the same
 * commands give the same answers as the bare reducers; N concurrent callers of a limit L are
 * admitted exactly L times; calls on several keys are all or nothing; and so on.
 *
 * The store must have room for some ten keys, and must not drop one that holds use.
 *
 * @param makeStore Makes an empty store, or one whose keys no other program uses.
 * @param options The range of cases to draw from.
 * @returns The laws; each runs by itself under any runner, asynchronously.
 * @throws {TypeError} If `makeStore` is no function, such as a store itself.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { storeLaws } from "tidegate/testing";
 *
 * for (const law of storeLaws(() => memoryStore())) await law.run({ numRuns: 5 });
 * ```
 */
export function storeLaws(makeStore: MakeStore, options: StoreLawsOptions = {}): readonly Law[] {
  checkFunction("make storeLaws", "makeStore", makeStore);
  checkOptions<StoreLawsOptions>("make storeLaws", options, {
    reuse: true,
    subjects: true,
    writes: true,
  });
  const { reuse = false, subjects = algorithms(), writes } = options;
  const fixture = storeFixture(makeStore, reuse);
  const arbitrary = subjectArbitrary(subjects);
  const laws = [
    ...traceLaws(),
    ...(writes === undefined ? [] : [writeLaw(writes)]),
    ...raceLaws(),
    ...upkeepLaws(),
    receiptStoreLaw(),
    closingLaw(makeStore),
  ];
  return laws.map((make) => closing(make(fixture, arbitrary), fixture.close));
}
