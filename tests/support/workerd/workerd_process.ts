import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

import { listens } from "../listens.ts";
import { freePort } from "../redis/free_port.ts";

/** A workerd of this test's own. */
export interface WorkerdProcess {
  /** Answers a request to an object. */
  get(object: string, path: string): Promise<unknown>;
  /** Kills it, and starts it again on its stored data. */
  killAndRestart(): Promise<void>;
  /** Ends it, and leaves nothing behind. */
  stop(): Promise<void>;
}

/** The package has no types. It exports the path of the program. */
const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };

const CONFIGURATION = (port: number) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "2026-01-01",
      compatibilityFlags = ["nodejs_compat"],
      durableObjectNamespaces = [(className = "Limits", uniqueKey = "limits", enableSql = true)],
      durableObjectStorage = (localDisk = "objects"),
      bindings = [(name = "LIMITS", durableObjectNamespace = "Limits")],
    )),
    (name = "objects", disk = (path = "objects", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;

/** Starts workerd with a worker that has a class `Limits` of Durable Objects. */
export async function startWorkerd(worker: string): Promise<WorkerdProcess> {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-workerd-"));
  mkdirSync(join(folder, "objects"));
  const port = await freePort();
  writeFileSync(join(folder, "config.capnp"), CONFIGURATION(port));
  await build({
    entryPoints: [worker],
    bundle: true,
    format: "esm",
    outfile: join(folder, "worker.js"),
    external: ["node:*"],
    logLevel: "error",
  });
  let child = await start();

  async function start(): Promise<ChildProcess> {
    const started = spawn(workerd, ["serve", "config.capnp"], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
    for (let tries = 0; !await listens(port); tries++) {
      if (started.exitCode !== null || tries > 1_500) throw new Error("workerd did not start");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return started;
  }

  async function kill(): Promise<void> {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  return {
    async get(object, path) {
      const response = await fetch(`http://127.0.0.1:${port}/${object}${path}`);
      if (!response.ok) throw new Error(await response.text());
      return await response.json();
    },
    async killAndRestart() {
      await kill();
      child = await start();
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
