import { type Fault, faultsIn } from "../fault.ts";

/** Faults that somebody who had not read the tests put in, and no test noticed at first. */
export const OVERLOOKED_FAULTS: readonly Fault[] = [
  ...faultsIn("stores/memory/memory_family.ts", ["memoryStore"], {
    "A look that takes over from older options":
      "if (slot !== undefined || keys.older.length === 0{~~ || !writes~>~~}) return slot;",
    "A reset that leaves what is held under older options":
      "for (const place of [keys{~~, ...keys.older~>~~}]) {",
  }),
  ...faultsIn("stores/memory/run_together.ts", ["memoryStore"], {
    "A look in a batch that takes over from older options":
      'findKey(slots, keys, key, now, {~~verb.kind !== "look"~>true~~});',
  }),
];
