import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createClient } from "redis";

import { freePort } from "../free_port.ts";

/** A redis-server of the bench's own. */
export interface Server {
  readonly url: string;
  /** Seconds of processor time that it has used. */
  processorTime(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the redis-server of REDIS_SERVER, or of the PATH, on a free port. */
export async function startServer(): Promise<Server> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const child = spawn(
    process.env["REDIS_SERVER"] ?? "redis-server",
    ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
    { stdio: "ignore" },
  );
  const client = createClient({ url });
  client.on("error", () => {});
  await client.connect();
  return {
    url,
    async processorTime() {
      const info = await client.info("cpu");
      const seconds = (name: string) =>
        Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1] ?? 0);
      return seconds("used_cpu_sys") + seconds("used_cpu_user");
    },
    async stop() {
      client.destroy();
      await ended(child);
    },
  };
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
