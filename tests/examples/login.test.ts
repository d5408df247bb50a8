import assert from "node:assert/strict";
import { test } from "node:test";

import { loginOn } from "../../examples/login.ts";
import { memoryStore } from "../../mod.ts";

const MINUTE = 60_000;

test("1,000 addresses that guess at an account neither get far nor lock its owner out", () => {
  let now = 1_790_000_000_000;
  const login = loginOn(memoryStore(), () => now);
  assert.equal(login("ada", "lovelace", "198.51.100.1"), "welcome, ada");
  const triesInHour = () => {
    let tried = 0;
    for (const end = now + 60 * MINUTE; now < end; now += MINUTE) {
      for (let address = 0; address < 1_000; address++) {
        const answer = login("ada", "guess", `203.0.113.${address}`);
        if (answer === "wrong user or password") tried++;
      }
    }
    return tried;
  };
  const hours = [triesInHour(), triesInHour()];
  assert.deepEqual(hours, [39, 30]);
  assert.equal(login("ada", "mistyped", "198.51.100.1"), "wrong user or password");
  assert.equal(login("ada", "lovelace", "198.51.100.1"), "welcome, ada");
  // One who comes from an address never seen waits with the attackers.
  login("ada", "guess", "192.0.2.9");
  assert.match(login("ada", "lovelace", "198.51.100.2"), /^again in \d min$/);
});

test("an address that guesses at one account waits longer each time", () => {
  let now = 1_790_000_000_000;
  const login = loginOn(memoryStore(), () => now);
  const waits = [1, 5, 15, 60].map((minutes) => {
    for (let guess = 0; guess < 3; guess++) login("bob", "guess", "203.0.113.7");
    const answer = login("bob", "secret", "203.0.113.7");
    now += minutes * MINUTE;
    return answer;
  });
  assert.deepEqual(waits, [1, 5, 15, 60].map((minutes) => `again in ${minutes} min`));
});
