import type { Store } from "../../../core/store.ts";
import type { Subject } from "../arbitraries/subject.ts";
import { isAccepted, type StoreSlot, storeSlot } from "../stores/store_slots.ts";

/** Makes a store to put to the laws. */
export type MakeStore = () => Store | Promise<Store>;

/** A store for each case of a law, or one for all of them. */
export interface StoreFixture {
  /** Runs one case, with a prefix of its own. */
  use(run: (store: Store, prefix: string) => Promise<void>): Promise<void>;
  /** Closes the store that served all cases, if there is one. */
  close(): Promise<void>;
}

let prefixes = 0;

/** A bench of stores; with `reuse` one store serves until `close`. */
export function storeFixture(make: MakeStore, reuse: boolean): StoreFixture {
  let kept: Store | undefined;
  return {
    async use(run) {
      const store = kept ?? await make();
      if (reuse) kept = store;
      try {
        await run(store, nextPrefix());
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

/** A prefix that no case has had, on a store that outlives the process either. */
export function nextPrefix(): string {
  prefixes++;
  return `law-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}-${prefixes}`;
}

/** Keys of each subject that the store takes. */
export function slotsOf(
  store: Store,
  prefix: string,
  subjects: readonly Subject[],
  keys: readonly string[],
): StoreSlot[] {
  const accepted = subjects.filter(({ algorithm }) => isAccepted(store, algorithm));
  const slots = accepted.flatMap((subject) =>
    keys.map((key) => storeSlot(store, prefix, subject, key))
  );
  return [...new Map(slots.map((slot) => [slot.stored, slot])).values()];
}

/** Runs a case on some slots, and deletes them when it is over. */
export async function withSlots(
  store: Store,
  slots: readonly StoreSlot[],
  run: () => Promise<void>,
): Promise<void> {
  if (slots.length === 0) return;
  try {
    await run();
  } finally {
    for (const { stored } of slots) await store.delete(stored);
  }
}
