// `npm start`: installs what is missing and starts the example server on Bun. PORT is its port.
import { spawn } from "node:child_process";
import process from "node:process";

import { install, root } from "./install.mjs";
import { whenOrphaned } from "./orphaned.mjs";

install();
const server = spawn("bun", ["examples/server.ts", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.on(signal, () => server.kill(signal));
}
whenOrphaned(() => server.kill("SIGTERM"));
server.on("error", (error) => {
  console.error(`Cannot start bun: ${error.message}`);
  process.exitCode = 127;
});
server.on("close", (code, signal) => {
  process.exit(code ?? (signal === null ? 1 : 0));
});
