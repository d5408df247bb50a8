/*
 * What a limit costs a server: requests a second, and processor time for a request.
 *
 *   npm run bench -- http [--short] --on=bun
 *
 * Every server is a process of its own on Bun, loaded by wrk over 32 connections. All are up from
 * the start and are loaded in turn, round after round, so that a busy moment of the machine
 * touches all of them. "By hand" limits nothing, but asks for the client's address and writes two
 * header fields, which is the least that a limiter can do. "Silent" does neither.
 *
 * The server's processor time is what it used itself, from /proc; it says more than the requests a
 * second where wrk and the server share the cores. Medians of the rounds.
 *
 * Flaw: one client address, so one key, which is always in the cache.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

import { installPrograms, requireProgram } from "../.ci/programs.mjs";

const SERVERS = [
  "bun",
  "bun by hand",
  "bun tidegate silent",
  "bun tidegate",
  "hono",
  "hono by hand",
  "hono tidegate",
  "hono hono-rate-limiter",
  "elysia",
  "elysia by hand",
  "elysia tidegate",
  "elysia elysia-rate-limit",
];

const short = process.argv.includes("--short");
const rounds = short ? 5 : 9;
const seconds = short ? 1 : 2;
const ticksPerSecond = Number(spawnSync("getconf", ["CLK_TCK"]).stdout.toString()) || 100;
installPrograms(["wrk"]);
const wrk = requireProgram("wrk");

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
  readonly rates: number[];
  readonly costs: number[];
}

const servers = await Promise.all(SERVERS.map(startServer));
try {
  for (let round = -1; round < rounds; round++) {
    for (const server of servers) {
      const { rate, cost } = load(server);
      // The first round warms up.
      if (round === -1) continue;
      server.rates.push(rate);
      server.costs.push(cost);
    }
  }
  print();
} finally {
  for (const { child } of servers) child.kill("SIGKILL");
}

function startServer(name: string): Promise<Server> {
  const child = spawn("node_modules/.bin/bun", ["bench/http_server.ts", name], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`Cannot start the server ${name}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (/^\d+$/.test(line)) resolve({ name, child, port: Number(line), rates: [], costs: [] });
    });
  });
}

/** Requests a second, and microseconds of the server's processor time for each. */
function load({ child, port, name }: Server): { rate: number; cost: number } {
  const before = cpuSeconds(child.pid!);
  const { stdout, status } = spawnSync(
    wrk.command,
    ["-t1", "-c32", `-d${seconds}s`, `http://127.0.0.1:${port}/`],
    { env: { ...process.env, ...wrk.env } },
  );
  const used = cpuSeconds(child.pid!) - before;
  const text = stdout.toString();
  const count = Number(/(\d+) requests in/.exec(text)?.[1]);
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
  if (status !== 0 || !(count > 0) || /Non-2xx/.test(text)) {
    throw new Error(`Cannot load the server ${name}: ${text}`);
  }
  return { rate, cost: used / count * 1e6 };
}

/** User and system time that a process has used. */
function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

function print(): void {
  console.log(`${rounds} rounds of ${seconds} s; medians`);
  console.log(
    "| server | requests/s | of the bare one | CPU µs/request | more than the bare one |",
  );
  console.log("|---|---|---|---|---|");
  for (const { name, rates, costs } of servers) {
    const bare = servers.find((server) => server.name === name.split(" ")[0])!;
    const rate = median(rates);
    const cost = median(costs);
    const share = median(rates.map((rate, round) => rate / bare.rates[round]!));
    const more = median(costs.map((cost, round) => cost / bare.costs[round]!));
    console.log(
      `| ${name} | ${Math.round(rate).toLocaleString("en")} | ${(share * 100).toFixed(1)} % | ` +
        `${cost.toFixed(1)} | ${((more - 1) * 100).toFixed(1)} % |`,
    );
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
