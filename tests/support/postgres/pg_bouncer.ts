import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { requireProgram } from "../../../.ci/programs.mjs";
import { freePort } from "../redis/free_port.ts";
import { listens } from "../listens.ts";

/** A PgBouncer of this test's own. */
export interface PgBouncer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a PgBouncer that lends each transaction one of two connections to a server, whichever is free.
 *
 * @param to The server's port.
 */
export async function startPgBouncer(to: number): Promise<PgBouncer> {
  const { command, env } = requireProgram("pgbouncer");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "tidegate-pgbouncer-"));
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(
    settings,
    `
[databases]
* = host=127.0.0.1 port=${to} user=tidegate
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
`,
  );
  chmodSync(folder, 0o755);
  // It does not run as root, either.
  const asOther = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn(command, ["-q", ...asOther, settings], {
    env: { ...process.env, ...env },
    stdio: "ignore",
  });
  for (let tries = 0; !await listens(port); tries++) {
    if (tries === 500) throw new Error("pgbouncer did not start within 5 seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    url: `postgres://tidegate:x@127.0.0.1:${port}/postgres`,
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
