/*
 * The state transitions in Lua beside the reducers that they repeat, on a real server:
 * every state after every call, and what is made of texts that are no states.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import type { Algorithm, Formula } from "../../../../core/algorithm.ts";
import { gcra } from "../../../../core/algorithms/gcra.ts";
import {
  algorithms,
  follow,
  gridsOf,
  schedules,
  type Subject,
} from "../../../../adapters/testing/testing.ts";
import {
  COMPARE_AND_SET,
  COMPARE_AND_SET_SHA,
} from "../../../../stores/redis/commit/compare_and_set.ts";
import { encodeCounts, SET_INSTANT, TAKE } from "../../../../stores/redis/script/words.ts";
import { LEEWAY, MARGIN } from "../../../../stores/stepping/cell.ts";
import {
  STATE_TRANSITIONS,
  STATE_TRANSITIONS_SHA,
} from "../../../../stores/redis/script/state_transitions.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";
import { fcOptions } from "../../../support/seed.ts";

test("the scripts are known by the SHA-1 of their texts", async () => {
  const scripts = [
    [STATE_TRANSITIONS, STATE_TRANSITIONS_SHA],
    [COMPARE_AND_SET, COMPARE_AND_SET_SHA],
  ] as const;
  for (const [text, sha] of scripts) {
    const bytes = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
    const hex = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0"));
    assert.equal(hex.join(""), sha);
  }
});

/** Algorithms that the script knows, and for each an algorithm whose step is its charge. */
const compiled = fc.tuple(algorithms(), fc.boolean()).filter(([{ algorithm }]) =>
  algorithm.internals?.formula !== undefined
).map(([subject, charges]) =>
  charges ? { ...subject, algorithm: charging(subject.algorithm) } : subject
);

/** An algorithm whose step is another algorithm's charge. */
function charging(algorithm: Algorithm): Algorithm {
  const formula = ["charge", algorithm.internals!.formula!];
  return { ...algorithm, step: algorithm.charge, internals: { formula } };
}

/** The script's arguments to take a cost at an instant, that many times from each key. */
function programOf(
  formula: Formula,
  now: number,
  cost: number,
  times: readonly number[],
): string[] {
  if (formula[0] === "ticks") {
    return [`${now}`, `${cost}`, encodeCounts(times), ...formula.map(String)];
  }
  return [`${now}`, JSON.stringify([[formula], ...stepsOf(cost, times)])];
}

function stepsOf(cost: number, times: readonly number[]): readonly number[] {
  return times.flatMap((each, key) => [TAKE, key, 0, cost, each]);
}

/** A time to live that no call sets, and how much of one may pass until it is read. */
const NEVER = 2 ** 50;
const SLOW = 4_000;

/** The calls of a schedule, and the text that each leaves. */
function traceOf(subject: Subject, schedule: Parameters<typeof follow>[0]) {
  const { algorithm } = subject;
  const trace: { now: number; cost: number; text: string | null }[] = [];
  let state = algorithm.initial;
  follow(schedule, { capacity: algorithm.capacity, grids: gridsOf(subject) }, (now, cost) => {
    const [decision, next] = algorithm.step(state, now, cost);
    state = next;
    const text = state === algorithm.initial ? null : algorithm.codec.encode(state);
    trace.push({ now, cost, text });
    return decision;
  });
  return trace;
}

withRedis("state transitions inside Redis", (_redis, { clientOf }) => {
  test("values expire 5 to 8 seconds after they are fresh, though not every write says so", async () => {
    const client = await clientOf();
    let [kept, run] = [0, 0];
    const calls = fc.array(fc.tuple(fc.nat(4_000), fc.integer({ min: -2, max: 3 })), {
      minLength: 9,
    });
    await fc.assert(
      fc.asyncProperty(compiled, fc.nat(2 ** 40), calls, async ({ algorithm }, start, calls) => {
        const formula = algorithm.internals!.formula!;
        const key = `expiry ${run++}`;
        let [now, expiry, state] = [start, 0, algorithm.initial];
        for (const [passed, cost] of calls) {
          now += passed;
          if (expiry <= now) {
            state = algorithm.initial;
            await client.del(key);
          }
          state = algorithm.step(state, now, cost)[1];
          const given = programOf(formula, now, cost, [cost === 0 ? 0 : 1]);
          const [, , left] = await Promise.all([
            client.pExpire(key, NEVER),
            client.eval(STATE_TRANSITIONS, { keys: [key], arguments: given }),
            client.pTTL(key),
          ]);
          if (left > NEVER / 2) kept++;
          else if (left > 0) expiry = now + left;
          const { resetAfter } = algorithm.step(state, now, 0)[0];
          // One that is fresh without being `initial` was written before.
          if (left < 0 || resetAfter === 0) continue;
          const spare = expiry - now - resetAfter;
          assert.ok(spare > MARGIN - SLOW && spare <= MARGIN + LEEWAY, `${spare} ms`);
        }
      }),
      fcOptions({ numRuns: 40 }),
    );
    assert.ok(kept > 0);
  });

  test("leave the very text that the reducer leaves, call by call", async () => {
    const client = await clientOf();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(compiled, schedules(), async (subject, schedule) => {
        const key = `trace ${run++}`;
        const formula = subject.algorithm.internals!.formula!;
        const trace = traceOf(subject, schedule);
        const texts = await Promise.all(trace.map(async ({ now, cost }) => {
          const given = programOf(formula, now, cost, [1]);
          const [, text] = await Promise.all([
            client.eval(STATE_TRANSITIONS, { keys: [key], arguments: given }),
            client.get(key),
          ]);
          return text;
        }));
        assert.deepEqual(texts, trace.map(({ text }) => text));
      }),
      fcOptions({ numRuns: 300 }),
    );
  });

  test("take calls of one key in one step as often as one by one", async () => {
    const client = await clientOf();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        compiled,
        fc.nat(2 ** 41),
        fc.integer({ min: -9, max: 9 }),
        fc.oneof(fc.nat(12), fc.nat(300)),
        async (
          { algorithm },
          now,
          cost,
          times,
        ) => {
          const key = `times ${run++}`;
          let state = algorithm.initial;
          for (let turn = 0; turn < times; turn++) state = algorithm.step(state, now, cost)[1];
          const formula = algorithm.internals!.formula!;
          const steps = JSON.stringify([[formula], SET_INSTANT, now, TAKE, 0, 0, cost, times]);
          const text = state === algorithm.initial ? null : algorithm.codec.encode(state);
          for (const given of [programOf(formula, now, cost, [times]), ["-1", steps]]) {
            await client.eval(STATE_TRANSITIONS, { keys: [key], arguments: given });
            assert.equal(await client.get(key), text);
            await client.del(key);
          }
        },
      ),
      fcOptions({ numRuns: 100 }),
    );
  });

  test("take costs the short way as in steps, by the server's time, whatever the burst", async () => {
    const client = await clientOf();
    let run = 0;
    const takes = fc.array(
      fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 99 }),
        fc.boolean(),
        takes,
        async (limit, burst, isOwing, takes) => {
          const { internals, capacity } = gcra({ limit, period: "3650d", burst });
          const formula = internals!.formula!;
          const keys = [`short ${run}`, `steps ${run++}`] as const;
          // So far ahead that it does not matter when the server runs the scripts.
          const start = `t1 ${Date.now() + 86_400_000}${isOwing ? " +" : ""}`;
          await client.mSet(keys.flatMap((key) => [key, start]));
          for (const [cost, times] of takes) {
            if (cost > capacity) continue;
            const short = programOf(formula, -1, cost, [times]);
            const steps = ["-1", JSON.stringify([[formula], TAKE, 0, 0, cost, times])];
            for (const [index, given] of [short, steps].entries()) {
              await client.eval(STATE_TRANSITIONS, { keys: [keys[index]!], arguments: given });
            }
            const [one, other] = await client.mGet([...keys]);
            assert.equal(one, other);
          }
        },
      ),
      fcOptions({ numRuns: 50 }),
    );
  });

  test("read texts that are no states, or nearly, as the codecs do", async () => {
    const client = await clientOf();
    const edits = fc.array(fc.tuple(fc.nat(60), fc.constantFrom("", ..."0129 :tfca.-eE\u0000é")), {
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(compiled, schedules(), fc.array(edits, { minLength: 30 }), async (
        subject,
        schedule,
        changes,
      ) => {
        const formula = subject.algorithm.internals!.formula!;
        const trace = traceOf(subject, schedule);
        const texts = changes.map((edits, index) => {
          const text = [...trace[index % trace.length]!.text ?? "t1 0 f1"];
          for (const [at, letter] of edits) text[at % text.length] = letter;
          return text.join("") || "t";
        });
        const { now } = trace.at(-1)!;
        const keys = texts.map((_, index) => `text ${index}`);
        await client.mSet(keys.flatMap((key, index) => [key, texts[index]!]));
        const times = keys.map(() => 1);
        const given = programOf(formula, now, 1, times);
        await client.eval(STATE_TRANSITIONS, { keys, arguments: given });
        const { algorithm } = subject;
        const expected = texts.map((text) => {
          const state = algorithm.codec.decode(text) ?? algorithm.initial;
          const next = algorithm.step(state, now, 1)[1];
          if (next === state) return text;
          return next === algorithm.initial ? null : algorithm.codec.encode(next);
        });
        assert.deepEqual(await client.mGet(keys), expected);
      }),
      fcOptions({ numRuns: 100 }),
    );
  });
});
