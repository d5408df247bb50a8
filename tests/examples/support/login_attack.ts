/*
 * Guesses at an account from 1,000 addresses for two hours, and prints what came of it. A program of
 * its own, because the example imports the package by its name, which Bun alone finds in the sources.
 */
import { loginOn } from "../../../examples/login.ts";
import { memoryStore } from "../../../mod.ts";

const MINUTE = 60_000;
let now = 1_790_000_000_000;
const login = loginOn(memoryStore(), () => now);

console.log(`before: ${await login("ada", "lovelace", "198.51.100.1")}`);
for (const hour of ["first", "second"]) console.log(`${hour} hour: ${await triesInHour()} tries`);
console.log(`owner mistypes: ${await login("ada", "mistyped", "198.51.100.1")}`);
console.log(`owner: ${await login("ada", "lovelace", "198.51.100.1")}`);
// One who comes from an address never seen waits with the attackers.
await login("ada", "guess", "192.0.2.9");
console.log(`owner elsewhere: ${await login("ada", "lovelace", "198.51.100.2")}`);
for (const host of [1, 2, 3]) await login("bob", "guess", `2001:db8::${host}`);
console.log(`one network: ${await login("bob", "secret", "2001:db8::4")}`);

async function triesInHour(): Promise<number> {
  let tried = 0;
  for (const end = now + 60 * MINUTE; now < end; now += MINUTE) {
    for (let address = 0; address < 1_000; address++) {
      const answer = await login("ada", "guess", addressOf(address));
      if (answer === "wrong user or password") tried++;
    }
  }
  return tried;
}

/** Addresses of different networks, so that no two share a key. */
function addressOf(index: number): string {
  return `203.0.${index >> 8}.${index & 255}`;
}
