import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { requireProgram } from "../../../.ci/programs.mjs";
import { freePort } from "./free_port.ts";
import { tell, until } from "./redis_cluster.ts";
import { type RedisProcess, startRedis } from "./redis_process.ts";

/** A master, its replica, and a sentinel that watches over them. */
export interface RedisSentinelProcess {
  readonly master: RedisProcess;
  readonly replica: RedisProcess;
  /** The sentinel's port. */
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts all three on free ports; the master is called `main`. */
export async function startSentinel(): Promise<RedisSentinelProcess> {
  const master = await startRedis();
  const replica = await startRedis([
    ...["--replicaof", `127.0.0.1 ${master.port}`],
    ...["--repl-diskless-sync-delay", "0"],
  ]);
  await until(async () =>
    (await tell<string>(replica, "INFO", "replication")).includes("master_link_status:up")
  );
  const program = requireProgram("redis-server");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "tidegate-sentinel-"));
  const settings = join(folder, "sentinel.conf");
  writeFileSync(
    settings,
    [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${folder}`,
      `sentinel monitor main 127.0.0.1 ${master.port} 1`,
      "sentinel down-after-milliseconds main 500",
      "sentinel failover-timeout main 2000",
      "",
    ].join("\n"),
  );
  const child = spawn(program.command, [settings, "--sentinel"], {
    env: { ...process.env, ...program.env },
    stdio: "ignore",
  });
  const sentinel = { ...master, port, url: `redis://127.0.0.1:${port}` };
  await until(async () =>
    (await tell<string>(sentinel, "INFO", "sentinel").catch(() => "")).includes("slaves=1")
  );
  return {
    master,
    replica,
    port,
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      process.kill(child.pid!, "SIGKILL");
      await Promise.all([ended, master.stop(), replica.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
