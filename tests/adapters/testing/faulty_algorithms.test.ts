import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { algorithmLaws, type Law, type Subjects } from "../../../adapters/testing/testing.ts";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { quota, type QuotaOptions, type Use } from "./quota.ts";

type Step = Algorithm<Use>["step"];

/** A fault of somebody who writes an algorithm, and the law that finds it. */
interface Fault {
  readonly name: string;
  readonly law: string;
  readonly subjects: () => Subjects<Use>;
}

const OPTIONS: QuotaOptions = { limit: 5, period: 100 };

/** A fault in one place of an honest algorithm. */
function fault(
  name: string,
  law: string,
  change: (honest: Algorithm<Use>) => Partial<Algorithm<Use>>,
): Fault {
  return {
    name,
    law,
    subjects() {
      const honest = quota(OPTIONS);
      return { ...honest, ...change(honest) };
    },
  };
}

/** A fault in what a step, or a charge, answers. */
function answer(
  name: string,
  law: string,
  change: (decision: Decision, now: number, cost: number) => Decision,
): Fault {
  const changed = (reducer: Step): Step => (state, now, cost) => {
    const [decision, next] = reducer(state, now, cost);
    return [change(decision, now, cost), next];
  };
  return fault(
    name,
    law,
    ({ step, charge }) => ({ step: changed(step), charge: changed(charge) }),
  );
}

/** A fault in the state that a step, or a charge, leaves. */
function successor(
  name: string,
  law: string,
  change: (next: Use, before: Use, decision: Decision, now: number) => Use,
): Fault {
  const changed = (reducer: Step): Step => (state, now, cost) => {
    const [decision, next] = reducer(state, now, cost);
    return [decision, change(next, state, decision, now)];
  };
  return fault(
    name,
    law,
    ({ step, charge }) => ({ step: changed(step), charge: changed(charge) }),
  );
}

/** A fault in how states are kept. */
function kept(
  name: string,
  law: string,
  change: (honest: Algorithm<Use>["codec"]) => Partial<Algorithm<Use>["codec"]>,
): Fault {
  return fault(name, law, ({ codec }) => ({ codec: { ...codec, ...change(codec) } }));
}

const RETRY = "retryAfter is the first millisecond that admits";
const REFUSAL = "a refusal returns the same state";
const LOOK = "cost 0 is allowed and changes nothing";
const INITIAL = "a step that leaves no use returns initial";
const BAD_INPUT = "a bad now or cost is a RangeError or TypeError, and changes nothing";
const FIELDS = "a decision has every field, in order, in whole numbers";
const TEXT = "a state reads back from its text, which is versioned and canonical";
const WORDS = "a state reads back from its words, which lie where they should";
const SHAPE = "words of another shape read as undefined, or as a state that has those words";

const FAULTS: readonly Fault[] = [
  answer("retryAfter a millisecond early", RETRY, (decision) => ({
    ...decision,
    retryAfter: Math.max(0, decision.retryAfter - 1),
  })),
  answer("retryAfter a millisecond late", RETRY, (decision) => ({
    ...decision,
    retryAfter: decision.allowed ? 0 : decision.retryAfter + 1,
  })),
  answer("retryAfter absent", RETRY, (decision) => ({ ...decision, retryAfter: 0 })),
  answer("retryAfter a wait that never helps", RETRY, (decision, _now, cost) => ({
    ...decision,
    retryAfter: cost > OPTIONS.limit ? OPTIONS.period : decision.retryAfter,
  })),
  answer("a unit left too many", "remaining is admitted and one more is not", (decision) => ({
    ...decision,
    remaining: decision.remaining + 1,
  })),
  answer("nextAfter too late", "nextAfter is when remaining grows", (decision) => ({
    ...decision,
    nextAfter: decision.nextAfter > 0 ? decision.nextAfter + 1 : 0,
  })),
  answer("resetAfter that stands still", "resetAfter counts down to the millisecond", (one) => ({
    ...one,
    resetAfter: one.resetAfter > 0 ? OPTIONS.period : 0,
  })),
  answer("a look refused where nothing is left", LOOK, (decision, _now, cost) => ({
    ...decision,
    allowed: cost === 0 ? decision.remaining > 0 : decision.allowed,
  })),
  answer("a look that must wait", LOOK, (decision) => ({ ...decision, delay: 1 })),
  answer("a field forgotten", FIELDS, ({ debt: _, ...decision }) => decision as Decision),
  answer("-0 in a field", FIELDS, (decision) => ({ ...decision, delay: -0 })),
  answer("a fraction in a field", FIELDS, (decision) => ({
    ...decision,
    nextAfter: decision.nextAfter > 0 ? decision.nextAfter - 0.5 : 0,
  })),
  answer("a limit that is what is left", "limit is that of a policy", (decision) => ({
    ...decision,
    limit: decision.remaining,
  })),
  answer(
    "another balance in the answer to a call than to a look",
    "a look returns the balance that the call returned",
    (decision, _now, cost) => ({ ...decision, remaining: cost > 0 ? 0 : decision.remaining }),
  ),
  successor(
    "a refusal that is charged",
    REFUSAL,
    (next, _before, { allowed }) => allowed ? next : { ...next, used: next.used + 1 },
  ),
  successor(
    "a refusal that copies the state",
    REFUSAL,
    (next, _before, { allowed }) => allowed ? next : { ...next },
  ),
  successor(
    "a look that copies the state",
    LOOK,
    (next, before) => next === before ? { ...next } : next,
  ),
  successor("no use that is not initial", INITIAL, (next, before) => ({
    ...(next === before ? before : next),
  })),
  successor(
    "a call that is forgotten",
    "a fresh key admits exactly its capacity",
    (_next, before) => before,
  ),
  fault("units beyond the capacity", "a fresh key admits exactly its capacity", () => ({
    ...quota({ ...OPTIONS, limit: 6 }),
    capacity: 5,
  })),
  fault("a fraction of now that counts", "a fraction of now is floored", (honest) => ({
    step: (state, now, cost) => {
      const [decision, next] = honest.step(state, now, cost);
      return [{ ...decision, resetAfter: decision.resetAfter - (now % 1) }, next];
    },
  })),
  fault("an instant that is no number", BAD_INPUT, ({ step, charge }) => ({
    step: (state, now, cost) => step(state, now || 0, cost),
    charge: (state, now, cost) => charge(state, now || 0, cost),
  })),
  fault("a cost that is a fraction", BAD_INPUT, ({ step, charge }) => ({
    step: (state, now, cost) => step(state, now, Math.ceil(cost)),
    charge: (state, now, cost) => charge(state, now, Math.ceil(cost)),
  })),
  fault("a memory of its own", "an old state answers as it did before", ({ step }) => {
    let calls = 0;
    return {
      step: (state, now, cost) => step(state, now, cost === 1 && ++calls % 3 === 0 ? 2 : cost),
    };
  }),
  fault(
    "a clock that steps back and opens the window again",
    "what is admitted at an instant is admitted at every later one",
    ({ step, initial }) => ({
      step: (state, now, cost) => step(now < state.opened ? initial : state, now, cost),
    }),
  ),
  fault(
    "a window that ends a millisecond after resetAfter",
    "after resetAfter a key behaves as fresh",
    ({ step }) => ({
      step(state, now, cost) {
        const [decision, next] = step(state, Math.max(0, now - 1), cost);
        return [{ ...decision, resetAfter: Math.max(0, decision.resetAfter - 1) }, next];
      },
    }),
  ),
  fault(
    "more given back than was taken",
    "giving back undoes taking, and no more",
    ({ step, initial }) => ({
      step(state, now, cost) {
        return cost < 0 ? step(initial, now, 0) : step(state, now, cost);
      },
    }),
  ),
  fault(
    "a charge that is lost where it is large",
    "charged at once is charged in parts",
    ({ charge }) => ({
      charge: (state, now, cost) => charge(state, now, cost > OPTIONS.limit ? 0 : cost),
    }),
  ),
  fault("a policy whose burst is another number", "a policy's burst is the capacity", (honest) => ({
    policies: honest.policies.map((policy) => ({ ...policy, burst: 1 })),
  })),
  {
    name: "an id that lacks an option",
    law: "algorithms of one id go on with each other's states",
    subjects: () => [{ ...quota(OPTIONS), id: "quota/5" }, {
      ...quota({ ...OPTIONS, period: 200 }),
      id: "quota/5",
    }],
  },
  kept("text without a version", TEXT, ({ encode, decode }) => ({
    encode: (state) => encode(state).slice(2),
    decode: (text) => decode(`q1${text}`),
  })),
  kept("text that rounds", TEXT, ({ encode }) => ({
    encode: ({ opened, used }) => encode({ opened: opened - opened % 10, used }),
  })),
  kept("text that does not read back", TEXT, () => ({ decode: () => undefined })),
  kept(
    "text that reads, whatever stands after it",
    "text of another shape reads as undefined, or as a state that has that text",
    ({ decode }) => ({ decode: (text) => decode(text.trim()) }),
  ),
  kept("words that hold a part of the state", WORDS, ({ write }) => ({
    write: ({ used }, words, offset) => write({ opened: 0, used }, words, offset),
  })),
  kept("words before their place", WORDS, ({ write }) => ({
    write(state, words, offset) {
      words[offset - 1] = 0;
      return write(state, words, offset);
    },
  })),
  kept("more words than maxWords", WORDS, () => ({ maxWords: 1 })),
  kept("words that read, however many there are", SHAPE, ({ read }) => ({
    read: (words, offset) => read(words, offset, 2),
  })),
];

/** A law's message. Its seed is fixed, because chance must not decide whether it finds a fault. */
async function outcomeOf(law: Law, numRuns = 60): Promise<string> {
  try {
    await law.run({ seed: 28, numRuns });
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

test("an honest algorithm keeps every law", async () => {
  const honest = [quota(OPTIONS), quota({ limit: 3, period: 77 })];
  for (const law of algorithmLaws(honest)) assert.equal(await outcomeOf(law, 10), "", law.name);
});

describe("the laws find", () => {
  for (const one of FAULTS) {
    test(
      one.name,
      async () => {
        const law = algorithmLaws(one.subjects()).find(({ name }) => name === one.law);
        assert.ok(law, `the law "${one.law}"`);
        const message = await outcomeOf(law);
        assert.ok(message.startsWith(`${one.law}\n`), `the law in: ${message}`);
        assert.match(message, /time +cost +decision +expected\n/);
        assert.match(message, /seed: 28/);
      },
    );
  }
});

describe("a law without a label says", () => {
  test("that a state was changed in place, whichever law found it", async () => {
    for (const law of algorithmLaws(changing())) {
      const message = await outcomeOf(law, 10);
      if (message !== "") assert.match(message, /changed in place: q1 .* became q1 /, law.name);
    }
    const retry = algorithmLaws(changing()).find(({ name }) => name === RETRY);
    assert.match(await outcomeOf(retry as Law), /changed in place/);
  });

  test("the error of a step", async () => {
    const [first] = algorithmLaws<Use>({
      ...quota(OPTIONS),
      step() {
        throw new TypeError("boom");
      },
    });
    assert.match(await outcomeOf(first as Law), /an answer, not TypeError: boom/);
  });

  test("nothing of its own where a reporter is given", async () => {
    const [first] = algorithmLaws({ ...quota(OPTIONS), capacity: 7 });
    let reported = false;
    await first?.run({ seed: 28, reporter: ({ failed }) => void (reported = failed) });
    assert.equal(reported, true);
  });
});

/** A quota whose states count in place. */
function changing(): Algorithm<Use> {
  const honest = quota(OPTIONS);
  const inPlace = (reducer: Step): Step => (state, now, cost) => {
    const [decision, next] = reducer(state, now, cost);
    if (next === state || state === honest.initial || next === honest.initial) {
      return [decision, next];
    }
    return [decision, Object.assign(state, next)];
  };
  return { ...honest, step: inPlace(honest.step), charge: inPlace(honest.charge) };
}
