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
  type Subjects,
} from "../../../adapters/testing/testing.ts";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { limiterOn } from "../../../core/limiter/limiter.ts";
import type { Limiter } from "../../../core/limiter/limiter_types.ts";
import type { Operation } from "../../../core/store.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { acquire as acquireIn } from "../../../core/waiting/acquire.ts";
import { wrapStore } from "../../../core/wrap_store.ts";
import { gcra, limiter, memoryStore, type SyncStore } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";
import { storesInTurn } from "../../support/stores_in_turn.ts";
import { type Count, decayCounter, type DecayOptions } from "./decay_counter.ts";

type Counter = Algorithm<Count>;
type Step = Counter["step"];

/** A fault of somebody who writes an algorithm. */
type Fault = (honest: Counter) => Partial<Counter>;

const OPTIONS: DecayOptions = { limit: 5, period: 100 };

/** A fault that a step and a charge share. */
function both(change: (reducer: Step) => Step): Fault {
  return ({ step, charge }) => ({ step: change(step), charge: change(charge) });
}

/** A fault in what a step, or a charge, answers. */
function answers(change: (decision: Decision, cost: number) => Partial<Decision>): Fault {
  return both((reducer) => (state, now, cost) => {
    const [decision, next] = reducer(state, now, cost);
    return [{ ...decision, ...change(decision, cost) }, next];
  });
}

/** A fault in the state that a step, or a charge, leaves. */
function leaves(change: (next: Count, before: Count, decision: Decision) => Count): Fault {
  return both((reducer) => (state, now, cost) => {
    const [decision, next] = reducer(state, now, cost);
    return [decision, change(next, state, decision)];
  });
}

/** A fault in how states are kept. */
function keeps(change: (honest: Counter["codec"]) => Partial<Counter["codec"]>): Fault {
  return ({ codec }) => ({ codec: { ...codec, ...change(codec) } });
}

/** By the law that finds them first, in the order of the laws. */
const FAULTS: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  "an old state answers as it did before": {
    "a memory of its own"({ step }) {
      let calls = 0;
      return {
        step: (state, now, cost) => step(state, now, cost === 1 && ++calls % 3 === 0 ? 2 : cost),
      };
    },
  },
  "cost 0 is allowed and changes nothing": {
    "a look refused where nothing is left": answers(({ allowed, remaining }, cost) => ({
      allowed: cost === 0 ? remaining > 0 : allowed,
    })),
    "a look that must wait": answers(() => ({ delay: 1 })),
    "a look that copies the state": leaves((next, before) => next === before ? { ...next } : next),
  },
  "a refusal returns the same state": {
    "a refusal that is charged": leaves((next, _before, { allowed }) =>
      allowed ? next : { ...next, count: next.count + 1 }
    ),
    "a refusal that copies the state": leaves((next, _before, { allowed }) =>
      allowed ? next : { ...next }
    ),
  },
  "a decision has every field, in order, in whole numbers": {
    "a field forgotten": both((reducer) => (...call) => {
      const [{ debt: _, ...decision }, next] = reducer(...call);
      return [decision as Decision, next];
    }),
    "-0 in a field": answers(() => ({ delay: -0 })),
    "a fraction in a field": answers(({ nextAfter }) => ({
      nextAfter: nextAfter > 0 ? nextAfter - 0.5 : 0,
    })),
  },
  "a fraction of now is floored": {
    "a fraction of now that counts": ({ step }) => ({
      step(state, now, cost) {
        const [decision, next] = step(state, now, cost);
        return [{ ...decision, resetAfter: decision.resetAfter - (now % 1) }, next];
      },
    }),
  },
  "remaining is admitted and one more is not": {
    "a unit left too many": answers(({ remaining }) => ({ remaining: remaining + 1 })),
    "another balance in the answer to a call than to a look": answers(({ remaining }, cost) => ({
      remaining: cost > 0 ? 0 : remaining,
    })),
    "a call that is forgotten": leaves((_next, before) => before),
    "units beyond the capacity": () => ({
      ...decayCounter({ ...OPTIONS, limit: 6 }),
      capacity: 5,
    }),
  },
  "a step that leaves no use returns initial": {
    "no use that is not initial": leaves((next, before) => next === before ? next : { ...next }),
  },
  "what is admitted at an instant is admitted at every later one": {
    "a clock that steps back and frees everything": ({ step, initial }) => ({
      step(state, now, cost) {
        const forgets = now < state.turn * OPTIONS.period;
        const [decision, next] = step(forgets ? initial : state, now, cost);
        return [decision, cost !== 0 && decision.allowed ? next : state];
      },
    }),
  },
  "retryAfter is the first millisecond that admits": {
    "retryAfter a millisecond early": answers(({ retryAfter }) => ({
      retryAfter: Math.max(0, retryAfter - 1),
    })),
    "retryAfter a millisecond late": answers(({ allowed, retryAfter }) => ({
      retryAfter: allowed ? 0 : retryAfter + 1,
    })),
    "retryAfter absent": answers(() => ({ retryAfter: 0 })),
    "retryAfter a wait that never helps": answers(({ retryAfter }, cost) => ({
      retryAfter: cost > OPTIONS.limit ? OPTIONS.period : retryAfter,
    })),
  },
  "nextAfter is when remaining grows": {
    "nextAfter too late": answers(({ nextAfter }) => ({
      nextAfter: nextAfter > 0 ? nextAfter + 1 : 0,
    })),
  },
  "after resetAfter a key behaves as fresh": {
    "resetAfter before the last unit is free": answers(({ nextAfter }) => ({
      resetAfter: nextAfter,
    })),
  },
  "resetAfter counts down to the millisecond": {
    "resetAfter a millisecond late": answers(({ resetAfter }) => ({
      resetAfter: resetAfter > 0 ? resetAfter + 1 : 0,
    })),
  },
  "giving back undoes taking, and no more": {
    "more given back than was taken": ({ step, initial }) => ({
      step: (state, now, cost) => cost < 0 ? step(initial, now, 0) : step(state, now, cost),
    }),
  },
  "charged at once is charged in parts": {
    "a charge that is lost where it is large": ({ charge }) => ({
      charge: (state, now, cost) => charge(state, now, cost > OPTIONS.limit ? 1 : cost),
    }),
  },
  "limit is that of a policy": {
    "a limit that is what is left": answers(({ remaining }) => ({ limit: remaining })),
  },
  "a policy's burst is the capacity": {
    "a policy whose burst is another number": ({ policies }) => ({
      policies: policies.map((policy) => ({ ...policy, burst: 1 })),
    }),
  },
  "a state reads back from its text, which is versioned and canonical": {
    "text without a version": keeps(({ encode, decode }) => ({
      encode: (state) => encode(state).slice(2),
      decode: (text) => decode(`d1${text}`),
    })),
    "text that rounds": keeps(({ encode }) => ({
      encode: ({ turn, count }) => encode({ turn: turn - turn % 10, count }),
    })),
    "text that does not read back": keeps(() => ({ decode: () => undefined })),
  },
  "a state reads back from its words, which lie where they should": {
    "words that hold a part of the state": keeps(({ write }) => ({
      write: ({ count }, words, offset) => write({ turn: 0, count }, words, offset),
    })),
    "words before their place": keeps(({ write }) => ({
      write(state, words, offset) {
        words[offset - 1] = 0;
        return write(state, words, offset);
      },
    })),
    "more words than maxWords": keeps(() => ({ maxWords: 1 })),
  },
  "words of another shape read as undefined, or as a state that has those words": {
    "words that read, however many there are": keeps(({ read }) => ({
      read: (words, offset) => read(words, offset, 2),
    })),
  },
  "a bad now or cost is a RangeError or TypeError, and changes nothing": {
    "an instant that is no number": both((reducer) => (state, now, cost) =>
      reducer(state, now || 0, cost)
    ),
    "a cost that is a fraction": both((reducer) => (state, now, cost) =>
      reducer(state, now, Math.ceil(cost))
    ),
  },
  "text of another shape reads as undefined, or as a state that has that text": {
    "text that reads, whatever stands after it": keeps(({ decode }) => ({
      decode: (text) => decode(text.trim()),
    })),
  },
  "algorithms of one id go on with each other's states": {
    "an id that lacks an option": () => ({ id: "decay/5" }),
  },
};

/** A law's message. Its seed is fixed, because chance must not decide whether it finds a fault. */
async function outcomeOf(law: Law, numRuns = 60): Promise<string> {
  try {
    await law.run({ seed: 28, numRuns });
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

/** Two counters, so that an id that they share shows. */
function withFault(fault: Fault): Subjects<Count> {
  return [OPTIONS, { ...OPTIONS, period: 200 }].map((options) => {
    const honest = decayCounter(options);
    return { ...honest, ...fault(honest) };
  });
}

test("an honest algorithm keeps every law", async () => {
  for (const law of algorithmLaws(withFault(() => ({})))) {
    assert.equal(await outcomeOf(law, 10), "", law.name);
  }
});

for (const [first, faults] of Object.entries(FAULTS)) {
  describe(`the law that finds first: ${first}`, () => {
    for (const [name, fault] of Object.entries(faults)) {
      test(name, async () => {
        for (const law of algorithmLaws(withFault(fault))) {
          const message = await outcomeOf(law, law.name === first ? 60 : 10);
          if (message === "") continue;
          assert.ok(message.startsWith(`${first}\n`), `the law in: ${message}`);
          assert.match(message, /time +cost +decision +expected\n/);
          assert.match(message, /seed: 28/);
          return;
        }
        assert.fail("no law found it");
      });
    }
  });
}

describe("a law without a label says", () => {
  test("that a state was changed in place, whichever law found it", async () => {
    for (const law of algorithmLaws(changing())) {
      const message = await outcomeOf(law, 10);
      if (message !== "") assert.match(message, /changed in place: d1 .* became d1 /, law.name);
    }
    const [first] = algorithmLaws(changing());
    assert.match(await outcomeOf(first as Law), /changed in place/);
  });

  test("the error of a step", async () => {
    const [first] = algorithmLaws<Count>({
      ...decayCounter(OPTIONS),
      step() {
        throw new TypeError("boom");
      },
    });
    assert.match(await outcomeOf(first as Law), /an answer, not TypeError: boom/);
  });

  test("nothing of its own where a reporter is given", async () => {
    const [, first] = algorithmLaws({
      ...decayCounter(OPTIONS),
      ...answers(() => ({ delay: 1 }))(decayCounter(OPTIONS)),
    });
    let reported = false;
    await first?.run({ seed: 28, reporter: ({ failed }) => void (reported = failed) });
    assert.equal(reported, true);
  });
});

/** A counter whose states count in place. */
function changing(): Counter {
  const honest = decayCounter(OPTIONS);
  const inPlace = (reducer: Step): Step => (state, now, cost) => {
    const [decision, next] = reducer(state, now, cost);
    if (next === state || state === honest.initial || next === honest.initial) {
      return [decision, next];
    }
    return [decision, Object.assign(state, next)];
  };
  return { ...honest, step: inPlace(honest.step), charge: inPlace(honest.charge) };
}

/** The laws that are broken, and what they say. */
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

test("a law that fails after another one names that law, which is to be fixed first", async () => {
  const laws = algorithmLaws(withFault(answers(() => ({ retryAfter: 0 }))));
  const [cause, ...others] = await broken(laws);
  assert.equal(cause![0], "retryAfter is the first millisecond that admits");
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
    for (let times = 0; times < 2; times++) {
      for (const law of algorithmLaws(withFault(() => ({})))) await law.run({ numRuns: 2 });
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

test("laws of stores catch two stores that are taken for one", async () => {
  const [law] = storeLaws(() => storesInTurn([memoryStore(), memoryStore()]));
  assert.equal((await broken([law as Law])).size, 1);
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

// deno-lint-ignore no-explicit-any
const untyped = (value: unknown) => value as any;

test("errors of laws name the given subject and the needed one", () => {
  const wrong: readonly [() => unknown, string][] = [
    [
      () => algorithmLaws(untyped(gcra)),
      "Cannot check laws as it needs an algorithm, a subject, a list or an arbitrary " +
      "of either: current value is a function",
    ],
    [() => algorithmLaws(untyped(undefined)), "current value is undefined"],
    [() => algorithmLaws([]), "it needs an algorithm, a subject, a list"],
    [() => algorithmLaws([untyped(null)]), "it needs an algorithm, a subject, a list"],
    [() => algorithmLaws(untyped(null)), "current value is null"],
    [
      () => storeLaws(untyped(memoryStore())),
      "Cannot make storeLaws as makeStore must be a function: current value is an object",
    ],
    [() => storeLaws(memoryStore, { subjects: untyped({}) }), "it needs an algorithm, a subject"],
    [
      () => limiterLaws(untyped(limiter(gcra({ limit: 1, period: 1, burst: 1 })))),
      "Cannot make limiterLaws as makeLimiter must be a function",
    ],
  ];
  for (const [make, message] of wrong) {
    assert.throws(make, ({ name, message: text }: Error) => {
      assert.equal(name, "TypeError", text);
      assert.ok(text.includes(message), text);
      return true;
    });
  }
});
