import assert from "node:assert/strict";
import { test } from "node:test";

import { staggeredAttempts } from "../../../../stores/redis/connections/staggered_attempts.ts";

/** Long enough for everything that is to happen before it. */
const LONG = 10_000;

const never = () => new Promise<string>(() => {});
const refuse = (why: string) => () => Promise.reject(new Error(why));

test("the next one is asked as soon as one has failed, and nobody else once one has answered", async () => {
  const asked: string[] = [];
  const answer = (name: string) => () => {
    asked.push(name);
    return Promise.resolve(name);
  };
  const attempts = [refuse("no"), refuse("no"), answer("third"), answer("fourth")];
  assert.equal(await staggeredAttempts(attempts, LONG, () => {}), "third");
  assert.deepEqual(asked, ["third"]);
});

test("nobody waits for one that is silent", async () => {
  assert.equal(
    await staggeredAttempts([never, never, () => Promise.resolve("third")], 1, () => {}),
    "third",
  );
});

test("one that was first asked may still answer; the answers after the first are handed back", async () => {
  const answers: ((name: string) => void)[] = [];
  const slow = () => new Promise<string>((resolve) => answers.push(resolve));
  const late: string[] = [];
  const first = staggeredAttempts([slow, refuse("no"), slow], 1, (name) => late.push(name));
  while (answers.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  answers[0]!("first");
  answers[1]!("last");
  assert.equal(await first, "first");
  assert.deepEqual(late, ["last"]);
});

test("if all fail it tells why the last one did, and if there is nobody, that", async () => {
  await assert.rejects(staggeredAttempts([refuse("one"), refuse("two")], LONG, () => {}), /two/);
  await assert.rejects(staggeredAttempts([], LONG, () => {}), /nobody to ask/);
});
