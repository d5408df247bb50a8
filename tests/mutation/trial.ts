/*
 * Runs the laws of one thing, and ends with 1 at the first that does not hold. Started by run.ts in
 * a copy of the tree that has a fault, and in one that has none.
 */
import process from "node:process";
import type { SuiteName } from "./fault.ts";
import { suiteOf } from "./suites.ts";

const [name, seed] = process.argv.slice(2);
const suite = await suiteOf(name as SuiteName);
let broken: string | undefined;
for (const law of suite.laws) {
  try {
    await law.run({ seed: Number(seed), numRuns: suite.numRuns, endOnFailure: true });
  } catch {
    broken = law.name;
    break;
  }
}
if (broken !== undefined) console.log(broken);
await suite.stop();
process.exit(broken === undefined ? 0 : 1);
