import type { AsyncStore } from "../../mod.ts";
import { asyncMemoryStore } from "./async_memory_store.ts";
import { interceptedStore } from "./intercepted_store.ts";

/** A store that cannot be reached, and whose failure policy admits everything. */
export function policyStore(): { store: AsyncStore; costs: number[] } {
  const costs: number[] = [];
  const store = interceptedStore(asyncMemoryStore(), (calls) => {
    costs.push(...calls.map(({ cost }) => cost));
    return Promise.resolve(calls.map(({ bound: { verb, family: { spec: { algorithm } } } }) => {
      const [look] = algorithm.step(algorithm.initial, 0, 0);
      return verb.answerOf({ ...look, source: "policy" });
    }));
  });
  return { store, costs };
}
