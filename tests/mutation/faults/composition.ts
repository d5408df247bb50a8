import { type Fault, faultsIn } from "../fault.ts";

/** Faults of several limits together. */
export const COMPOSITION_FAULTS: readonly Fault[] = [
  ...faultsIn("core/algorithms/all.ts", ["all"], {
    "`all` charges the parts that admit, though one refuses": [
      "else if (cost > 0 && refuses(index, state, now, cost)) return states;",
      "",
    ],
    "`all` shows the balance of a part as if it had been charged":
      "if ({~~allowed~>decisions.length > 0~~}) return decisions;",
    "`all` keeps fresh parts as a used state": "return {~~isFresh ? initial : ~>~~}next;",
  }),
  ...faultsIn("core/algorithms/combine_decisions.ts", ["all"], {
    "`all` gives the verdict of its last part": "allowed = {~~allowed && ~>~~}part.allowed;",
    "The shortest `retryAfter` of the parts instead of the longest":
      "if (part.retryAfter > {~~retryAfter~>0~~}) retryAfter = part.retryAfter;",
    "`nextAfter` of a part that is not the least":
      "{~~part.remaining === least.remaining && part.nextAfter~>part.nextAfter~~} > nextAfter",
    "`resetAfter` of the first part instead of the last to be fresh": [
      "if (part.resetAfter > resetAfter) resetAfter = part.resetAfter;",
      "",
    ],
    "`limit` of the last of several parts with the least remaining":
      "if (part.remaining <{~~~>=~~} least.remaining) {",
  }),
  ...faultsIn("core/algorithms/combine_decisions.ts", ["tests/core/algorithms/edges.test.ts"], {
    "`nextAfter` of a key that is at capacity":
      "{~~least.remaining >= capacity ? 0 : ~>~~}nextAfter,",
  }),
  ...faultsIn("core/transact.ts", ["sharedStore"], {
    "A batch charges the keys that admit, though one refuses":
      "return { answers, nexts{~~: states~>~~} };",
    "A refused batch answers as if its admitted keys had been charged":
      "answers[index] = {~~verb.answerOf(decide(states[index], states[index], instant, 0))~>answers[index]~~};",
  }),
  ...faultsIn("core/verbs/peek.ts", ["memoryStore"], {
    "A look that takes": "next: {~~(state) => state~>take~~},",
  }),
  ...faultsIn("core/verbs/refund.ts", ["memoryStore"], {
    "A refund that takes": "next: (state, now, units) => take(state, now, {~~-~>~~}units),",
  }),
  ...faultsIn("core/verbs/charge.ts", ["memoryStore"], {
    "A charge that is answered by the balance before it":
      "decide({~~next, next~>_state, _state~~}, now, 0)",
  }),
  ...faultsIn("core/carry_over.ts", ["memoryStore"], {
    "A changed limit that forgets what was used": "if (held {~~=~>!~~}== undefined) continue;",
    "A changed limit that takes over its share rounded down":
      "(BigInt(used) * BigInt(capacity){~~ + old - 1n~>~~}) / old",
    "A smaller limit that forgets a key which had used more": [
      "Math.min(carried(older.capacity - remaining), capacity)",
      "carried(older.capacity - remaining) % (capacity + 1)",
    ],
  }),
];
