/*
 * Turns a law of stores, written as data, into a property: makes the store, gives each case keys of
 * its own and cleans up. So all cases can share a store that is slow to make, or a live server.
 */

import fc from "fast-check";
import type { Decision } from "../../../core/decision.ts";
import type { Store } from "../../../core/store.ts";
import type { Subject } from "../arbitraries/subjects.ts";
import { type Law, law } from "../law.ts";
import { isAccepted, runOn, type TestedKey, testedKey } from "../stores/tested_key.ts";

/** Makes a store to put to the laws. */
export type MakeStore = () => Store | Promise<Store>;

/** One case of a law: a store, keys that no other case uses, and the instant of its calls. */
export interface StoreCase {
  readonly store: Store;
  /** Each key under each algorithm; at least one. */
  readonly keys: readonly TestedKey[];
  /** The first of them. */
  readonly tested: TestedKey;
  readonly now: number;
  /** A call on the first key. */
  call(cost: number, options?: Parameters<typeof runOn>[4]): Promise<Decision>;
}

/** A law of a store, as data. */
export interface StoreLaw<Drawn> {
  readonly name: string;
  /** The least and the most algorithms; default one. */
  readonly subjects?: readonly [least: number, most: number];
  /** The keys of each algorithm; default a single key. */
  readonly keys?: readonly string[] | ((drawn: Drawn) => readonly string[]);
  /** Further values to draw. */
  readonly draw?: fc.Arbitrary<Drawn>;
  holds(at: StoreCase, drawn: Drawn): Promise<void>;
}

/** Makes the law for one fixture. */
export type MakeStoreLaw = (fixture: StoreFixture, subjects: fc.Arbitrary<Subject>) => Law;

/** Turns a law as data into a property of any fixture. */
export function storeLaw<Drawn>(row: StoreLaw<Drawn>): MakeStoreLaw {
  const { name, subjects: [minLength, maxLength] = [1, 1], keys = ["key"], holds } = row;
  const draw = row.draw ?? fc.constant(undefined as Drawn);
  return (fixture, subjects) =>
    law(
      name,
      fc.asyncProperty(
        fc.array(subjects, { minLength, maxLength }),
        origins(),
        draw,
        async (of, now, drawn) => {
          const names = typeof keys === "function" ? keys(drawn) : keys;
          await fixture.use((store) => withKeys(store, of, names, now, (at) => holds(at, drawn)));
        },
      ),
    );
}

/** The instants at which cases begin. */
export function origins(): fc.Arbitrary<number> {
  return fc.constantFrom(0, 1_790_000_123_457);
}

/** A store for each case of a law, or one for all of them. */
export interface StoreFixture {
  /** Runs one case. */
  use(run: (store: Store) => Promise<void>): Promise<void>;
  /** Closes the store that served all cases, if one did. */
  close(): Promise<void>;
}

/** With `reuse` one store serves until `close`. */
export function storeFixture(make: MakeStore, reuse: boolean): StoreFixture {
  let kept: Store | undefined;
  return {
    async use(run) {
      const store = kept ?? await make();
      if (reuse) kept = store;
      try {
        await run(store);
      } finally {
        if (!reuse) await store.close();
      }
    },
    async close() {
      await kept?.close();
      kept = undefined;
    },
  };
}

let prefixes = 0;

/** Runs a case on keys of its own, if the store accepts any algorithm, and then deletes them. */
export async function withKeys(
  store: Store,
  subjects: readonly Subject[],
  names: readonly string[],
  now: number,
  run: (at: StoreCase) => Promise<void>,
): Promise<void> {
  // Random, because a store may outlive the process and still hold the keys of an earlier run.
  const random = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
  const prefix = `law-${random}-${++prefixes}`;
  const drawn = subjects
    .filter(({ algorithm }) => isAccepted(store, algorithm))
    .flatMap((subject) => names.map((key) => testedKey(store, prefix, subject, key)));
  const keys = [...new Map(drawn.map((tested) => [tested.stored, tested])).values()];
  const [tested] = keys;
  if (tested === undefined) return;
  try {
    const call: StoreCase["call"] = (cost, options) => runOn(store, tested, cost, now, options);
    await run({ store, keys, tested, now, call });
  } finally {
    for (const { family, key } of keys) await family.delete(key);
  }
}

/** A law that closes its store after each run. */
export function closing(made: Law, close: () => Promise<void>): Law {
  return {
    ...made,
    async run(parameters) {
      try {
        await made.run(parameters);
      } finally {
        await close();
      }
    },
  };
}
