import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";

import { requireProgram } from "../../../.ci/programs.mjs";
import { freePort } from "../redis/free_port.ts";

/** A Postgres of this test's own. */
export interface PostgresProcess {
  readonly port: number;
  /** The folder that it keeps its data in. */
  readonly folder: string;
  /** With the name and password of its only user. */
  readonly url: string;
  /**
   * Sends a signal to the server and all its processes: SIGSTOP holds them up, SIGCONT lets them go
   * on.
   */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** Ends it like a crash: unlogged tables are lost. */
  crash(): Promise<void>;
  /** Ends it in order, with all connections. */
  shutDown(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
  /** Ends it, and leaves nothing behind. */
  stop(): Promise<void>;
}

/** The user `nobody`: Postgres does not run as root. */
const NOBODY = 65_534;

/**
 * Starts a Postgres on a free port of 127.0.0.1.
 *
 * @param settings More settings, by their names.
 * @param folder An empty folder for its data.
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  folder: string = mkdtempSync(join(tmpdir(), "tidegate-postgres-")),
): Promise<PostgresProcess> {
  const { command, env: libraries } = requireProgram("postgres");
  const env = { ...process.env, ...libraries, PGTZ: "UTC" };
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, 0o700);
  const data = join(folder, "data");
  const [program, ...before] = asNobody(isRoot);
  const made = spawnSync(
    program ?? join(dirname(command), "initdb"),
    [
      ...(isRoot ? [...before, join(dirname(command), "initdb")] : []),
      ...["-D", data, "-U", "tidegate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    ],
    { env, encoding: "utf8", cwd: "/" },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const given = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    shared_buffers: "16MB",
    max_connections: "60",
    max_wal_senders: "0",
    wal_level: "minimal",
    fsync: "off",
    log_min_messages: "panic",
    ...settings,
  };
  let child = await start();

  async function start(): Promise<ChildProcess> {
    const args = [
      ...["-D", data, "-p", String(port)],
      ...Object.entries(given).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ];
    const started = spawn(program ?? command, isRoot ? [...before, command, ...args] : args, {
      env,
      stdio: "ignore",
      cwd: "/",
    });
    await answers(port, started);
    return started;
  }

  async function end(name: "SIGINT" | "SIGQUIT"): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(child.pid!, name);
    await ended;
  }

  return {
    port,
    folder,
    url: `postgres://tidegate:x@127.0.0.1:${port}/postgres`,
    signal(name) {
      for (const id of [child.pid!, ...childrenOf(child.pid!)]) process.kill(id, name);
    },
    crash: () => end("SIGQUIT"),
    shutDown: () => end("SIGINT"),
    async restart() {
      child = await start();
    },
    async stop() {
      await end("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function asNobody(isRoot: boolean): readonly string[] {
  const id = String(NOBODY);
  return isRoot ? ["setpriv", `--reuid=${id}`, `--regid=${id}`, "--clear-groups"] : [];
}

function childrenOf(id: number): readonly number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(id)], { encoding: "utf8" });
  return stdout.split("\n").map(Number).filter((child) => child > 0);
}

/** Waits until the server is ready for statements. */
async function answers(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`);
    if (await accepts(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("postgres did not start within 15 seconds");
}

/** Whether the server lets the user in: it refuses while it starts. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    const text = new TextEncoder().encode("user\0tidegate\0database\0postgres\0\0");
    const start = new Uint8Array(8 + text.length);
    new DataView(start.buffer).setInt32(0, start.length);
    new DataView(start.buffer).setInt32(4, 196_608);
    start.set(text, 8);
    socket.on("connect", () => socket.write(start));
    socket.on("data", (data) => end(data[0] === "R".charCodeAt(0)));
    socket.on("error", () => end(false));
  });
}
