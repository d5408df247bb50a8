import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { requireProgram } from "../../../.ci/programs.mjs";
import { freePort } from "./free_port.ts";

/** A redis-server of this test's own. */
export interface RedisProcess {
  readonly port: number;
  readonly url: string;
  /** Sends a signal: SIGSTOP holds it up, SIGCONT lets it go on. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** Kills it like a crash: its keys are lost. */
  kill(): Promise<void>;
  /** Starts it again on the same port, after a kill. */
  restart(): Promise<void>;
  /** Ends it, and leaves nothing behind. */
  stop(): Promise<void>;
}

/**
 * Starts a redis-server on a free port of 127.0.0.1, without persistence.
 *
 * @param settings More settings, as on its command line.
 */
export async function startRedis(settings: readonly string[] = []): Promise<RedisProcess> {
  const { command, env } = requireProgram("redis-server");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "tidegate-redis-"));
  let child = await start();

  async function start(): Promise<ChildProcess> {
    const started = spawn(
      command,
      [
        ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder],
        ...["--save", "", "--appendonly", "no", "--loglevel", "warning"],
        ...settings,
      ],
      { env: { ...process.env, ...env }, stdio: "ignore" },
    );
    await answers(port, started);
    return started;
  }

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(child.pid!, "SIGKILL");
    await ended;
  }

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    // By its id: a ChildProcess of Deno takes one signal only.
    signal: (name) => void process.kill(child.pid!, name),
    kill,
    async restart() {
      child = await start();
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until the server takes connections. */
async function answers(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    if (await accepts(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("redis-server did not start within 5 seconds");
}

/** Whether the server answers a PING. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("connect", () => socket.write("PING\r\n"));
    socket.on("data", (data) => end(String(data).startsWith("+PONG")));
    socket.on("error", () => end(false));
  });
}
