import type { AsyncStore, Decision, SyncStore } from "../../mod.ts";

/** What decides when answers come. */
export interface Held {
  /** Lets all answers come that are held back. */
  release(): void;
  /** Lets the one come that was asked for last. */
  releaseLast(): void;
  /** How many are held back. */
  count(): number;
}

/** A store that decides at once, and answers when it is let. */
export function promised(store: SyncStore): { store: AsyncStore; held: Held } {
  const waiting: (() => void)[] = [];

  function later<Value>(value: Value): Promise<Value> {
    return new Promise((resolve) => waiting.push(() => resolve(value)));
  }

  const made: AsyncStore = {
    run: (operations, now) => later(store.run(operations, now)),
    internals: {
      prepare(prefix, algorithm) {
        const decide = store.internals!.prepare!(prefix, algorithm);
        return (key, cost, dry, now): Promise<Decision> => later(decide(key, cost, dry, now));
      },
    },
    accepts: (algorithm) => store.accepts(algorithm),
    delete: (key) => later(store.delete(key)),
    close: () => Promise.resolve(store.close()),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
  return {
    store: made,
    held: {
      release: () => waiting.splice(0).forEach((answer) => answer()),
      releaseLast: () => waiting.pop()?.(),
      count: () => waiting.length,
    },
  };
}
