/*
 * Guesses at an account from 1,000 addresses for two hours, and prints what came of it. A program of
 * its own, because the example imports the package by its name, which Bun alone finds in the sources.
 */
import { loginOn } from "../../../examples/login.ts";
import { memoryStore } from "../../../mod.ts";

const MINUTE = 60_000;
let now = 1_790_000_000_000;
const login = loginOn(memoryStore(), () => now);

console.log(`before: ${login("ada", "lovelace", "198.51.100.1")}`);
for (const hour of ["first", "second"]) console.log(`${hour} hour: ${triesInHour()} tries`);
console.log(`owner mistypes: ${login("ada", "mistyped", "198.51.100.1")}`);
console.log(`owner: ${login("ada", "lovelace", "198.51.100.1")}`);
// One who comes from an address never seen waits with the attackers.
login("ada", "guess", "192.0.2.9");
console.log(`owner elsewhere: ${login("ada", "lovelace", "198.51.100.2")}`);

function triesInHour(): number {
  let tried = 0;
  for (const end = now + 60 * MINUTE; now < end; now += MINUTE) {
    for (let address = 0; address < 1_000; address++) {
      if (login("ada", "guess", `203.0.113.${address}`) === "wrong user or password") tried++;
    }
  }
  return tried;
}
