import { spawn, spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import pg from "pg";

import { findProgram } from "../../.ci/programs.mjs";
import { freePort } from "../free_port.ts";

/** A Postgres of the bench's own, as it is set up by default. */
export interface PostgresServer {
  readonly url: string;
  /** Bytes that were written to its log so far. */
  walBytes(): Promise<number>;
  /** Seconds of processor time that it has used, with all its processes; 0 where Linux does not say. */
  processorTime(): number;
  stop(): Promise<void>;
}

/** The user `nobody`: Postgres does not run as root. */
const NOBODY = 65_534;

/** Starts one on a free port; `undefined` where there is no Postgres. */
export async function startPostgresServer(): Promise<PostgresServer | undefined> {
  const program = findProgram("postgres");
  if (program === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const as = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const env = { ...process.env, ...program.env };
  const data = join(folder, "data");
  const begin = (name: string, args: readonly string[]) => {
    const [first = "", ...rest] = [...as, join(dirname(program.command), name), ...args];
    return [first, rest] as const;
  };
  const [initdb, given] = begin("initdb", ["-D", data, "-U", "bench", "-A", "trust", "--no-sync"]);
  const made = spawnSync(initdb, given, { env, encoding: "utf8", cwd: "/" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
  const [command, args] = begin("postgres", [
    ...["-D", data, "-p", String(port)],
    ...settings.flatMap((setting) => ["-c", setting]),
  ]);
  const child = spawn(command, args, { env, stdio: "ignore", cwd: "/" });
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pool.on("error", () => {});
  for (let tries = 0;; tries++) {
    try {
      await pool.query("SELECT 1");
      break;
    } catch (error) {
      if (tries === 500) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  return {
    url,
    async walBytes() {
      const { rows: [row] } = await pool.query(
        "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes",
      );
      return Number(row.bytes);
    },
    processorTime: () => secondsOf(child.pid!),
    async stop() {
      await pool.end();
      const ended = new Promise((resolve) => child.once("exit", resolve));
      process.kill(child.pid!, "SIGINT");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** The processor time of a process, of the children that it has, and of those that have ended. */
function secondsOf(id: number): number {
  try {
    const children = readFileSync(`/proc/${id}/task/${id}/children`, "utf8").split(" ");
    const ticks = (id: string | number, fields: readonly number[]) => {
      // The name, in parentheses, may hold anything.
      const [, rest = ""] = readFileSync(`/proc/${id}/stat`, "utf8").split(/\) (?=\S+ \d)/);
      return fields.reduce((sum, field) => sum + Number(rest.split(" ")[field - 3]), 0);
    };
    const own = ticks(id, [14, 15, 16, 17]);
    return children.filter(Boolean).reduce((sum, child) => sum + ticks(child, [14, 15]), own) / 100;
  } catch {
    return 0;
  }
}
