/*
 * The state transitions in Lua beside the reducers that they were compiled from, on a real server:
 * every state after every call, and what is made of texts that are no states.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { createClient } from "redis";

import { stateTransitions } from "../../../../.ci/lua.mjs";
import {
  algorithms,
  follow,
  gridsOf,
  schedules,
  type Subject,
} from "../../../../adapters/testing/testing.ts";
import { runSteps, SET_INSTANT, TAKE } from "../../../../stores/redis/script/run_steps.ts";
import { STATE_TRANSITIONS } from "../../../../stores/redis/script/state_transitions.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";
import { fcOptions } from "../../../support/seed.ts";

const FILE = new URL("../../../../stores/redis/script/state_transitions.ts", import.meta.url);

test("the script is what `npm run lua` writes", () => {
  assert.equal(readFileSync(FILE, "utf8"), stateTransitions());
});

/** Algorithms that the script knows. */
const compiled = algorithms().filter(({ algorithm }) => algorithm.internals?.formula !== undefined);

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

withRedis("state transitions inside Redis", (redis) => {
  test("leave the very text that the reducer leaves, call by call", async () => {
    const client = await createClient({ url: redis().url }).connect();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(compiled, schedules(), async (subject, schedule) => {
        const key = `trace ${run++}`;
        const formulas = [subject.algorithm.internals!.formula!];
        const trace = traceOf(subject, schedule);
        const texts = await Promise.all(trace.map(async ({ now, cost }) => {
          const program = JSON.stringify([now, formulas, [TAKE, 0, 0, cost, 1]]);
          const [, text] = await Promise.all([
            client.eval(STATE_TRANSITIONS, { keys: [key], arguments: [program] }),
            client.get(key),
          ]);
          return text;
        }));
        assert.deepEqual(texts, trace.map(({ text }) => text));
      }),
      fcOptions({ numRuns: 300 }),
    );
    await client.close();
  });

  test("take calls of one key in one step as often as one by one", async () => {
    const client = await createClient({ url: redis().url }).connect();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        compiled,
        fc.nat(2 ** 41),
        fc.integer({ min: -9, max: 9 }),
        fc.nat(12),
        async (
          { algorithm },
          now,
          cost,
          times,
        ) => {
          const key = `times ${run++}`;
          let state = algorithm.initial;
          for (let turn = 0; turn < times; turn++) state = algorithm.step(state, now, cost)[1];
          const steps = [SET_INSTANT, now, TAKE, 0, 0, cost, times];
          const program = JSON.stringify([-1, [algorithm.internals!.formula!], steps]);
          await client.eval(STATE_TRANSITIONS, { keys: [key], arguments: [program] });
          const text = state === algorithm.initial ? null : algorithm.codec.encode(state);
          assert.equal(await client.get(key), text);
        },
      ),
      fcOptions({ numRuns: 100 }),
    );
    await client.close();
  });

  test("read texts that are no states, or nearly, as the codecs do", async () => {
    const client = await createClient({ url: redis().url }).connect();
    const edits = fc.array(fc.tuple(fc.nat(60), fc.constantFrom("", ..."0129 :tfca.-eE\u0000é")), {
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(compiled, schedules(), fc.array(edits, { minLength: 30 }), async (
        subject,
        schedule,
        changes,
      ) => {
        const formulas = [subject.algorithm.internals!.formula!];
        const trace = traceOf(subject, schedule);
        const texts = changes.map((edits, place) => {
          const text = [...trace[place % trace.length]!.text ?? "t1 0 f1"];
          for (const [at, letter] of edits) text[at % text.length] = letter;
          return text.join("") || "t";
        });
        const { now } = trace.at(-1)!;
        const keys = texts.map((_, place) => `text ${place}`);
        await client.mSet(keys.flatMap((key, place) => [key, texts[place]!]));
        const steps = keys.flatMap((_, place) => [TAKE, place, 0, 1, 1]);
        const program = JSON.stringify([now, formulas, steps]);
        await client.eval(STATE_TRANSITIONS, { keys, arguments: [program] });
        const expected: (string | null)[] = [...texts];
        runSteps(formulas, steps, keys.length, texts, now, (place, text) => {
          expected[place] = text ?? null;
        });
        assert.deepEqual(await client.mGet(keys), expected);
      }),
      fcOptions({ numRuns: 100 }),
    );
    await client.close();
  });
});
