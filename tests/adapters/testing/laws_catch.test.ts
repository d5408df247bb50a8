import type { Operation } from "../../../core/store.ts";
import type { SyncStore } from "../../../mod.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  algorithmLaws,
  type AlgorithmRule,
  gcraRule,
  type Law,
  limiterLaws,
  storeLaws,
  type Subject,
} from "../../../adapters/testing/testing.ts";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import { limiterOn } from "../../../core/limiter/limiter.ts";
import type { Limiter } from "../../../core/limiter/limiter_types.ts";
import { acquire as acquireIn } from "../../../core/waiting/acquire.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { wrapStore } from "../../../core/wrap_store.ts";
import { peek } from "../../../core/verbs/peek.ts";

const honest = gcra({ limit: 3, period: 10, burst: 4 });

/** An algorithm that answers, or steps, a little wrongly. */
function faulty(
  answer: (decision: Decision, state: number, next: number) => readonly [Decision, number],
): Algorithm {
  const { internals: _, ...rest } = honest as Algorithm<number>;
  return {
    ...rest,
    step(state: number, now: number, cost: number) {
      const [decision, next] = rest.step(state, now, cost);
      return answer(decision, state, next);
    },
  } as Algorithm;
}

async function broken(laws: readonly Law[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const law of laws) {
    try {
      await law.run({ ...fcOptions(), endOnFailure: true });
    } catch (error) {
      found.set(law.name, String((error as Error).cause ?? error));
    }
  }
  return found;
}

const cases: readonly (readonly [string, string, Algorithm])[] = [
  [
    "that promises a millisecond too early",
    "retryAfter is the first millisecond that admits",
    faulty((decision, _, next) =>
      decision.retryAfter > 1 && decision.retryAfter < Infinity
        ? [{ ...decision, retryAfter: decision.retryAfter - 1 }, next]
        : [decision, next]
    ),
  ],
  [
    "that charges for a refusal",
    "a refusal returns the same state",
    faulty((decision, _, next) => decision.allowed ? [decision, next] : [decision, next + 1]),
  ],
  [
    "that forgets what was taken",
    "a fresh key admits exactly its capacity",
    faulty((decision, state) => [decision, state]),
  ],
  [
    "that promises one unit too many",
    "remaining is admitted and one more is not",
    faulty((decision, _, next) => [{ ...decision, remaining: decision.remaining + 1 }, next]),
  ],
  [
    "that has a field more",
    "a decision has every field, in order, in whole numbers",
    faulty((decision, _, next) => [{ ...decision, more: 1 } as Decision, next]),
  ],
];

describe("laws catch an algorithm", () => {
  for (const [name, law, algorithm] of cases) {
    test(name, async () => {
      const found = await broken(algorithmLaws(algorithm).filter((each) => each.name === law));
      assert.ok(found.has(law));
      assert.match(found.get(law) ?? "", /time +cost +decision +expected\n/);
    });
  }
});

test("a law that fails after another one names that law, which is to be fixed first", async () => {
  const laws = algorithmLaws(cases[0]![2]);
  const [cause, ...others] = await broken(laws);
  assert.equal(cause![0], cases[0]![1]);
  assert.ok(others.length > 0);
  const last = laws.find(({ name }) => name === others.at(-1)![0])!;
  const start = new RegExp(`^Fix this law first: ${cause![0]}\n\n${last.name}\n`);
  const run = async () => await last.run({ ...fcOptions(), endOnFailure: true });
  await assert.rejects(run, { message: start });
});

test("laws without a rule say once what they cannot find", async () => {
  const { warn } = console;
  const lines: string[] = [];
  console.warn = (line: string) => void lines.push(line);
  try {
    for (const law of [...algorithmLaws(honest), ...algorithmLaws(honest)]) {
      await law.run({ ...fcOptions({ numRuns: 2 }) });
    }
  } finally {
    console.warn = warn;
  }
  assert.ok(lines.length <= 1);
  for (const line of lines) {
    assert.match(line, /without a rule.* algorithmLaws\(\{ algorithm, rule/);
  }
});

test("the model catches a fault that no other law does", async () => {
  const subject: Subject = {
    algorithm: gcra({ limit: 3, period: 11, burst: 3 }) as Algorithm,
    rule: gcraRule({ limit: 3, period: 10, burst: 3 }) as AlgorithmRule,
  };
  const found = await broken(algorithmLaws(subject));
  assert.deepEqual([...found.keys()], ["every decision is the model's"]);
});

test("laws of stores catch a store that loses a write", async () => {
  const [sameAnswers] = storeLaws(() => {
    const store = memoryStore();
    let runs = 0;
    const losing = ({ bound, ...rest }: Operation) => ({
      ...rest,
      bound: ++runs % 7 === 0 ? bound.family.bind(peek) : bound,
    });
    return wrapStore(store, {
      run: (operations, now) => store.run(operations.map(losing), now),
    }) as SyncStore;
  });
  assert.equal((await broken([sameAnswers as Law])).size, 1);
});

test("laws of limiters catch a limiter that lets the second in line go first", async () => {
  const laws = limiterLaws((algorithm, clock) => {
    const limiter = limiterOn(algorithm, memoryStore(), "test", { clock }) as Limiter;
    let calls = 0;
    return {
      ...limiter,
      async acquire(key, options) {
        if (++calls === 1) await new Promise<void>((resolve) => clock.after(1, resolve));
        return await acquireIn(limiter, key, options);
      },
    };
  });
  const inTurn = laws.filter((law) => law.name.startsWith("acquire serves in turn"));
  assert.equal((await broken(inTurn)).size, 1);
});
