// `npm start`: installs what is missing and starts the decision service on Bun, with the rules of
// examples/rules.yaml, on two threads over the embedded shared store. PORT is its port.
// At last it prints the address of its page.
import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";

import { install, root } from "./install.mjs";
import { whenOrphaned } from "./orphaned.mjs";

install();
const port = process.env["PORT"] ?? "8080";
const service = spawn("bun", [
  ...["adapters/command/bin.ts", "serve", "examples/rules.yaml"],
  ...["--threads", "2", "--port", port, "--drain-delay", "0"],
  ...process.argv.slice(2),
], { cwd: root, stdio: ["inherit", "pipe", "inherit"] });
service.stdout.pipe(process.stdout);
createInterface({ input: service.stdout }).on("line", (line) => {
  const [, taken] = /"event":"listening","url":"[^"]*:(\d+)"/.exec(line) ?? [];
  if (taken !== undefined) console.log(`Open http://localhost:${taken}`);
});
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.on(signal, () => service.kill(signal === "SIGHUP" ? "SIGTERM" : signal));
}
whenOrphaned(() => service.kill("SIGTERM"));
service.on("error", (error) => {
  console.error(`Cannot start bun: ${error.message}`);
  process.exitCode = 127;
});
service.on("close", (code, signal) => {
  process.exit(code ?? (signal === null ? 1 : 0));
});
