import type fc from "fast-check";
import type { Store } from "../../../core/store.ts";
import type { Subject } from "../arbitraries/subject.ts";
import type { MakeStore, StoreFixture } from "./store_fixture.ts";

/** What the laws of a store are made from. */
export interface StoreCase {
  readonly make: MakeStore;
  readonly bench: StoreFixture;
  readonly subjects: fc.Arbitrary<Subject>;
  /** How often the store has written, where that can be told. */
  readonly writes: ((store: Store) => number | Promise<number>) | undefined;
}
