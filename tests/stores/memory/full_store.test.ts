import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import {
  type Algorithm,
  type Decision,
  gcra,
  limiter,
  memoryStore,
  slidingLog,
  StoreFullError,
} from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

/** Few enough that one call looks at each of them. */
const MAX_KEYS = 7;

/** A call on one of more keys than the store may hold. */
interface Move {
  readonly wait: number;
  readonly key: number;
  readonly action: "consume" | "refund" | "reset";
  readonly cost: number;
}

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({
    wait: fc.oneof(fc.constant(0), fc.nat({ max: 20 })),
    key: fc.nat({ max: 11 }),
    action: fc.oneof(
      { weight: 5, arbitrary: fc.constant("consume" as const) },
      { weight: 2, arbitrary: fc.constant("refund" as const) },
      { weight: 1, arbitrary: fc.constant("reset" as const) },
    ),
    cost: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 200 })),
  }),
  { minLength: 20, maxLength: 80, size: "max" },
);

/** Keys of very different times to live: a unit takes a millisecond to come back. */
const ALGORITHMS: readonly Algorithm[] = [
  gcra({ limit: 1, period: 1, burst: 200 }) as Algorithm,
  slidingLog({ limit: 200, period: 150 }) as Algorithm,
];

for (const algorithm of ALGORITHMS) {
  test(`a store that may not evict has room exactly while a key is free: ${algorithm.name}`, () => {
    fc.assert(
      fc.property(moves, (drawn) => {
        const store = memoryStore({ maxKeys: MAX_KEYS, onFull: "throw" });
        let now = 1_000;
        const api = limiter(algorithm, { store, prefix: "a", clock: () => now });
        const freshAt = new Map<number, number>();
        for (const { wait, key, action, cost } of drawn) {
          now += wait;
          const others = [...freshAt].filter(([other, at]) => other !== key && at > now).length;
          const isKnown = (freshAt.get(key) ?? 0) > now;
          const decision = isFull(() => answerTo(action, key, cost));
          if (action === "consume") {
            assert.equal(decision === undefined, !isKnown && others >= MAX_KEYS);
          }
          if (decision !== undefined) freshAt.set(key, now + decision.resetAfter);
        }

        function answerTo(action: Move["action"], key: number, cost: number): Decision {
          if (action === "reset") {
            api.reset(`${key}`);
            return api.peek(`${key}`, 0);
          }
          return api[action](`${key}`, cost);
        }
      }),
      fcOptions({ numRuns: 300 }),
    );
  });
}

/** The answer to a call; `undefined` if the store was full. */
function isFull(call: () => Decision): Decision | undefined {
  try {
    return call();
  } catch (error) {
    assert.ok(error instanceof StoreFullError, String(error));
    return undefined;
  }
}
