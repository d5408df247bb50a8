import { type AsyncStore, memoryStore } from "../../mod.ts";

/** The memory store as one that answers by promises. */
export function asyncMemoryStore(): AsyncStore {
  const store = memoryStore();
  return {
    run: (operations, now) => Promise.resolve(store.run(operations, now)),
    accepts: (algorithm) => store.accepts(algorithm),
    delete: (key) => Promise.resolve(store.delete(key)),
    close: () => Promise.resolve(store.close()),
    [Symbol.asyncDispose]: () => Promise.resolve(store.close()),
  };
}
