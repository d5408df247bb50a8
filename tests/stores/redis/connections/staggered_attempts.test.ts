import assert from "node:assert/strict";
import { test } from "node:test";

import { staggeredAttempts } from "../../../../stores/redis/connections/staggered_attempts.ts";

/** Long enough for everything that is to happen before it. */
const LONG = 10_000;

const never = () => new Promise<string>(() => {});
const refuse = (why: string) => () => Promise.reject(new Error(why));

test("the next attempt starts as soon as one has failed, and no more once one has answered", async () => {
  const tried: string[] = [];
  const answer = (name: string) => () => {
    tried.push(name);
    return Promise.resolve(name);
  };
  const attempts = [refuse("no"), refuse("no"), answer("third"), answer("fourth")];
  assert.equal(await staggeredAttempts(attempts, LONG, LONG, () => {}), "third");
  assert.deepEqual(tried, ["third"]);
});

test("nobody waits for a silent attempt", async () => {
  assert.equal(
    await staggeredAttempts([never, never, () => Promise.resolve("third")], 1, LONG, () => {}),
    "third",
  );
});

test("the first attempt may still answer; answers after the first one are handed back", async () => {
  const answers: ((name: string) => void)[] = [];
  const slow = () => new Promise<string>((resolve) => answers.push(resolve));
  const late: string[] = [];
  const first = staggeredAttempts([slow, refuse("no"), slow], 1, LONG, (name) => late.push(name));
  while (answers.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  answers[0]!("first");
  answers[1]!("last");
  assert.equal(await first, "first");
  assert.deepEqual(late, ["last"]);
});

test("if all fail the error is the last one, and without attempts it says that", async () => {
  await assert.rejects(
    staggeredAttempts([refuse("one"), refuse("two")], LONG, LONG, () => {}),
    /two/,
  );
  await assert.rejects(staggeredAttempts([], LONG, LONG, () => {}), /no server to ask/);
});

test("nobody waits for all of them, and answers after that are handed back", async () => {
  let answer = (_: string): void => {};
  const slow = () => new Promise<string>((resolve) => answer = resolve);
  const late: string[] = [];
  const all = staggeredAttempts([slow], LONG, 1, (name) => late.push(name));
  await assert.rejects(all, /No server answered within 1 ms/);
  answer("late");
  await Promise.resolve();
  assert.deepEqual(late, ["late"]);
});
