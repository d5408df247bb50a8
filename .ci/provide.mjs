// Installs the programs that are given by name, before the tests that need them:
// `node .ci/provide.mjs postgres pgbouncer`. Without names, those of `npm test`.
import process from "node:process";

import { installPrograms, packageOf } from "./programs.mjs";

const names = /** @type {import("./programs.mjs").ProgramName[]} */ (process.argv.slice(2));
const missing = installPrograms(names.length > 0 ? names : undefined);
for (const name of missing) {
  console.error(`Cannot install ${name}: its Debian package is ${packageOf(name)}`);
}
process.exitCode = missing.length > 0 ? 1 : 0;
