import { spawn } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { requireProgram } from "../../../.ci/programs.mjs";
import { freePort } from "../redis/free_port.ts";

/** A MariaDB of this test's own. */
export interface MariadbProcess {
  /** Where it listens, for a client that needs no password, and without a database. */
  readonly url: string;
  /** Ends it, and leaves nothing behind. */
  stop(): Promise<void>;
}

/** The user `nobody`: MariaDB does not run as root. */
const NOBODY = 65_534;

/** Starts a MariaDB on a free port of 127.0.0.1: in an empty folder, without tables of users. */
export async function startMariadb(): Promise<MariadbProcess> {
  const { command, env: libraries } = requireProgram("mariadbd");
  const folder = mkdtempSync(join(tmpdir(), "tidegate-mariadb-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) { for (const path of [folder, data]) chownSync(path, NOBODY, NOBODY); }
  const port = await freePort();
  const args = [
    ...["--no-defaults", `--datadir=${data}`, `--socket=${join(folder, "socket")}`],
    ...["--skip-grant-tables", "--bind-address=127.0.0.1", `--port=${port}`],
    ...["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"],
    "--innodb-flush-log-at-trx-commit=0",
  ];
  const asNobody = isRoot ? ["setpriv", `--reuid=${NOBODY}`, "--clear-groups"] : [];
  const [program, ...rest] = [...asNobody, command, ...args];
  const child = spawn(program!, rest, {
    env: { ...process.env, ...libraries },
    stdio: "ignore",
    cwd: "/",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  for (let tries = 0; !await accepts(port); tries++) {
    if (child.exitCode !== null || tries > 1_500) throw new Error("mariadbd did not start");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    url: `mysql://root@127.0.0.1:${port}`,
    async stop() {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether it greets clients. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("data", () => end(true));
    socket.on("error", () => end(false));
  });
}
