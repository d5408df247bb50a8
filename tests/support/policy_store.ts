import { type AsyncStore, memoryStore } from "../../mod.ts";
import { asyncMemoryStore } from "./async_memory_store.ts";

/** A store that cannot be reached, and whose failure policy admits everything. */
export function policyStore(): { store: AsyncStore; costs: number[] } {
  const costs: number[] = [];
  const store: AsyncStore = {
    ...asyncMemoryStore(),
    run(operations, now) {
      costs.push(...operations.map(({ cost }) => cost));
      const decisions = memoryStore().run(operations.map((one) => ({ ...one, cost: 0 })), now);
      return Promise.resolve(decisions.map((look) => ({ ...look, source: "policy" as const })));
    },
  };
  return { store, costs };
}
