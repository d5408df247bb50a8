import type { Fault } from "../fault.ts";

const COMBINE = "core/algorithms/combine_decisions.ts";
const TRANSACT = "core/transact.ts";

/** Faults of several limits together. */
export const COMPOSITION_FAULTS: readonly Fault[] = [
  {
    what: "`all` charges the parts that admit, though one refuses",
    file: "core/algorithms/all.ts",
    search: "else if (cost > 0 && !part.decide(state, state, now, cost).allowed) return states;",
    replace: "",
    laws: ["all"],
  },
  {
    what: "`all` shows the balance of a part as if it had been charged",
    file: "core/algorithms/all.ts",
    search: "if (allowed) return decisions;",
    replace: "if (decisions.length > 0) return decisions;",
    laws: ["all"],
  },
  {
    what: "`all` keeps fresh parts as a used state",
    file: "core/algorithms/all.ts",
    search: "next === undefined ? states : isFresh ? initial : next",
    replace: "next === undefined ? states : next",
    laws: ["all"],
  },
  {
    what: "`all` gives the verdict of its last part",
    file: COMBINE,
    search: "allowed = allowed && part.allowed;",
    replace: "allowed = part.allowed;",
    laws: ["all"],
  },
  {
    what: "The shortest `retryAfter` of the parts instead of the longest",
    file: COMBINE,
    search: "if (part.retryAfter > retryAfter) retryAfter = part.retryAfter;",
    replace: "if (part.retryAfter > 0) retryAfter = part.retryAfter;",
    laws: ["all"],
  },
  {
    what: "`nextAfter` of a part that is not the least",
    file: COMBINE,
    search: "part.remaining === least.remaining && part.nextAfter > nextAfter",
    replace: "part.nextAfter > nextAfter",
    laws: ["all"],
  },
  {
    what: "`nextAfter` of a key that is at capacity",
    file: COMBINE,
    search: "least.remaining >= capacity ? 0 : nextAfter,",
    replace: "nextAfter,",
    laws: ["all"],
  },
  {
    what: "`resetAfter` of the first part instead of the last to be fresh",
    file: COMBINE,
    search: "if (part.resetAfter > resetAfter) resetAfter = part.resetAfter;",
    replace: "",
    laws: ["all"],
  },
  {
    what: "`limit` of the last of several parts with the least remaining",
    file: COMBINE,
    search: "if (part.remaining < least.remaining) {",
    replace: "if (part.remaining <= least.remaining) {",
    laws: ["all"],
  },
  {
    what: "A batch charges the keys that admit, though one refuses",
    file: TRANSACT,
    search: ": { decisions: looks, writes: conversions };",
    replace: ": { decisions: looks, writes };",
    laws: ["memoryStore"],
  },
  {
    what: "A refused batch answers as if its admitted keys had been charged",
    file: TRANSACT,
    search: ": { decisions: looks, writes: conversions };",
    replace: ": { decisions, writes: conversions };",
    laws: ["memoryStore"],
  },
  {
    what: "A refund in a refused batch is answered as if it had been made",
    file: TRANSACT,
    search: "looks.push(cost !== 0 && decision.allowed",
    replace: "looks.push(cost > 0 && decision.allowed",
    laws: ["memoryStore"],
  },
  {
    what: "A dry run in a batch that is written",
    file: TRANSACT,
    search: "if (dry) return decision;",
    replace: "",
    laws: ["memoryStore"],
  },
  {
    what: "A changed limit that takes over its share rounded down",
    file: "core/carry_over.ts",
    search: "(BigInt(used) * BigInt(capacity) + old - 1n) / old",
    replace: "(BigInt(used) * BigInt(capacity)) / old",
    laws: ["memoryStore"],
  },
  {
    what: "A smaller limit that forgets a key which had used more",
    file: "core/carry_over.ts",
    search: "Math.min(carried(older.capacity - remaining), capacity)",
    replace: "carried(older.capacity - remaining) % (capacity + 1)",
    laws: ["memoryStore"],
  },
  {
    what: "A refused call that leaves the use under the older options",
    file: TRANSACT,
    search: ": { decisions: looks, writes: conversions };",
    replace: ": { decisions: looks, writes: [] };",
    laws: ["memoryStore"],
  },
  {
    what: "A changed limit that forgets what was used",
    file: TRANSACT,
    search: "if (old === undefined || replaces === undefined) return algorithm.initial;",
    replace: "if (old !== undefined || replaces === undefined) return algorithm.initial;",
    laws: ["memoryStore"],
  },
];
