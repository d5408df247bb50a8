import { type Algorithm, memoryStore, type Operation, type SyncStore } from "../../mod.ts";

/**
 * The memory store, but what reducers are given of it is good only until it answers: like the views
 * of a store in shared memory, which other threads write.
 */
export function viewStore(): SyncStore {
  const store = memoryStore();
  return {
    run(operations, now) {
      const lease = { ended: false };
      const viewing = operations.map((operation): Operation => ({
        ...operation,
        algorithm: withViews(operation.algorithm, lease),
      }));
      try {
        return store.run(viewing, now);
      } finally {
        lease.ended = true;
      }
    },
    accepts: (algorithm) => store.accepts(algorithm),
    delete: (key) => store.delete(key),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function withViews(algorithm: Algorithm, lease: { readonly ended: boolean }): Algorithm {
  return {
    ...algorithm,
    internals: { ...algorithm.internals, halves: undefined },
    step(state, now, cost) {
      const view = viewOf(state, lease);
      const [decision, next] = algorithm.step(view, now, cost);
      return [decision, next === view ? state : next];
    },
  };
}

function viewOf(state: unknown, lease: { readonly ended: boolean }): unknown {
  if (typeof state !== "object" || state === null) return state;
  // What is frozen may not be shown otherwise than it is: of an array a copy is.
  return new Proxy(Array.isArray(state) ? [...state] : state, {
    get(target, name) {
      if (lease.ended) throw new Error(`Cannot read ${String(name)} of a state of an ended call`);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : viewOf(value, lease);
    },
  });
}
