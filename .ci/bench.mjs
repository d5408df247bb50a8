// `npm run bench -- memory [--short]`: runs bench/memory.ts on Bun, Deno and Node, one after the other.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { install, root } from "./install.mjs";

const [name = "memory", ...rest] = process.argv.slice(2);
const only = rest.find((word) => word.startsWith("--on="))?.slice(5).split(",");
const words = rest.filter((word) => !word.startsWith("--on="));
const file = join(root, "bench", `${name}.ts`);
if (!existsSync(file)) {
  console.error(`Cannot run the bench as it must be a file of bench/: there is no ${name}.ts`);
  process.exit(1);
}
install();
/** @param {string} program */
const bin = (program) => join(root, "node_modules/.bin", program);
/** @type {Record<string, [program: string, before: string[]]>} */
const runtimes = {
  bun: [bin("bun"), ["run", file]],
  deno: [bin("deno"), ["run", "-A", "--no-check", "--v8-flags=--expose-gc", file]],
  node: [bin("node"), ["--expose-gc", file]],
};
for (const [runtime, [program, before]] of Object.entries(runtimes)) {
  if (only !== undefined && !only.includes(runtime)) continue;
  const { status } = spawnSync(program, [...before, ...words], { stdio: "inherit", cwd: root });
  if (status !== 0) process.exitCode = 1;
}
