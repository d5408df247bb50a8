/*
 * The cost of a decision of the service: decisions a second and the time for one call, beside a
 * bare Bun.serve that parses the same body and answers a constant.
 *
 *   npm run bench -- serve [--short] --on=bun
 *
 * Both servers run 2 threads, in a process each, and are up from the start. wrk loads them in turn
 * over 32 connections, round after round, so that a busy moment of the machine touches both.
 * Each call asks for a user of 100,000, or for 100 of them. Medians of the rounds.
 *
 * Flaw: wrk shares the cores with the servers, so the rates are those of a part of the cores.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";

import { installPrograms, requireProgram } from "../.ci/programs.mjs";
import { median } from "./measure.ts";

const short = process.argv.includes("--short");
const rounds = short ? 3 : 9;
const seconds = short ? 1 : 3;
installPrograms(["wrk"]);
const wrk = requireProgram("wrk");
const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
}

interface Load {
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const servers = await Promise.all(["bare", "tidegate"].map(startServer));
try {
  for (const batch of [1, 100]) {
    const script = writeScript(batch);
    const loads = new Map(servers.map(({ name }) => [name, [] as Load[]]));
    for (let round = -1; round < rounds; round++) {
      for (const server of servers) {
        const load = measure(server, script);
        // The first round warms up.
        if (round >= 0) loads.get(server.name)!.push(load);
      }
    }
    print(batch, loads);
  }
} finally {
  for (const { child } of servers) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}

function startServer(name: string): Promise<Server> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "serve_server.ts"), name], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => {
      resolve({ name, child, port: Number(line) });
    });
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}`)));
  });
}

/** A script for wrk: bodies made beforehand, one after the other. */
function writeScript(batch: number): string {
  const file = join(folder, `batch-${batch}.lua`);
  const bodies = 100_000 / batch / (batch === 1 ? 10 : 1);
  writeFileSync(
    file,
    `
local requests = {}
local number = 0
function init()
  local user = 0
  for place = 1, ${bodies} do
    local list = {}
    for item = 1, ${batch} do
      user = (user * 7919 + 12345) % 100000
      list[item] = '{"domain":"shop","entries":{"user":"user-' .. user .. '"}}'
    end
    local body = table.concat(list, ",")
    if ${batch} > 1 then body = "[" .. body .. "]" end
    requests[place] = wrk.format("POST", "/v1/consume", {["Content-Type"] = "application/json"}, body)
  end
end
function request()
  number = number % ${bodies} + 1
  return requests[number]
end
function done(summary, latency)
  io.write(string.format("FIGURES %d %d %d %d %d %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
`,
  );
  return file;
}

function measure({ name, port }: Server, script: string): Load {
  const args = ["-t1", "-c32", `-d${seconds}s`, "-s", script, `http://127.0.0.1:${port}`];
  const { stdout } = spawnSync(wrk.command, args, { env: { ...process.env, ...wrk.env } });
  const figures = /FIGURES (.*)/.exec(String(stdout))?.[1]?.split(" ").map(Number) ?? [];
  const [requests = 0, micros = 1, p50 = 0, p99 = 0, statuses = 0, errors = 0] = figures;
  if (requests === 0 || statuses + errors > 0) {
    throw new Error(`${name}: ${requests} calls, ${statuses} bad answers, ${errors} errors`);
  }
  return { rate: requests / micros * 1e6, p50: p50 / 1_000, p99: p99 / 1_000 };
}

function print(batch: number, loads: ReadonlyMap<string, readonly Load[]>): void {
  console.log(`\n${batch === 1 ? "one decision" : `${batch} decisions`} a call, 2 threads`);
  for (const [name, list] of loads) {
    const rate = median(list.map((load) => load.rate));
    const [p50, p99] = [median(list.map((load) => load.p50)), median(list.map((load) => load.p99))];
    const decisions = Math.round(rate * batch).toLocaleString("en");
    console.log(
      `${name.padEnd(10)} ${decisions.padStart(10)} decisions/s   p50 ${p50.toFixed(2)} ms   p99 ${
        p99.toFixed(2)
      } ms`,
    );
  }
  const ratios = loads.get("tidegate")!.map(({ rate }, round) =>
    rate / loads.get("bare")![round]!.rate
  );
  console.log(`tidegate / bare: ${median(ratios).toFixed(2)} of its rate`);
}
