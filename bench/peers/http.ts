/*
 * The cost of a limit for a server: microseconds of processor time for a request, and requests a
 * second.
 *
 * Every server is a process of its own on the runtime that runs this, loaded by wrk over 32
 * connections. All are up from the start and are loaded in turn, round after round, so that a busy
 * moment of the machine touches all of them. The processor time is what the server used itself,
 * from /proc; it says more than the requests a second where wrk and the server share the cores.
 *
 * Flaw: one client address, so one key, which is always in the cache.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { installPrograms, requireProgram } from "../../.ci/programs.mjs";
import { median, runtime } from "../measure.ts";
import { versionOf } from "./peer.ts";
import type { Row } from "./results.ts";

/** The usual rate limiter of each framework; `undefined` for a framework without one. */
const PEERS: Readonly<Record<string, string | undefined>> = {
  serve: undefined,
  express: "express-rate-limit",
  fastify: "@fastify/rate-limit",
  koa: "koa-ratelimit",
  nestjs: "@nestjs/throttler",
  hono: "hono-rate-limiter",
  elysia: "elysia-rate-limit",
  trpc: undefined,
  effect: undefined,
};

/** The frameworks of docs/internals/peers.md. */
const SHOWN = ["serve", "express", "fastify", "hono", "elysia"];

const NOTES: Readonly<Record<string, string>> = {
  "bare": "no limit",
  "by hand": "asks for the address and writes two fields; limits nothing",
  "tidegate": "gcra, RateLimit and RateLimit-Policy",
  "peer": "fixed window; its newest header fields",
};

/** A server's framework, the step before its answer, and the checkout with that step. */
export interface Asked {
  readonly framework: string;
  readonly kind: string;
  readonly root?: string | undefined;
}

interface Server extends Asked {
  readonly child: ChildProcess;
  readonly port: number;
  readonly rates: number[];
  readonly costs: number[];
}

/** Microseconds of processor time for each request, and requests a second. */
export async function httpRows(isShort: boolean): Promise<Row[]> {
  const asked = frameworksHere().filter((name) => SHOWN.includes(name)).flatMap((framework) =>
    kindsOf(framework, Object.keys(NOTES)).map((kind) => ({ framework, kind }))
  );
  return (await measureServers(asked, isShort)).map(rowOf);
}

/** The frameworks that run on this runtime. */
export function frameworksHere(): string[] {
  const isBun = runtime().startsWith("Bun");
  return Object.keys(PEERS).filter((name) => name !== "elysia" || isBun);
}

/** The kinds that a framework has a server for. */
export function kindsOf(framework: string, kinds: readonly string[]): string[] {
  const missing = new Set(PEERS[framework] === undefined ? ["peer"] : []);
  // Their middlewares read no address and write no fields.
  if (framework === "trpc" || framework === "effect") missing.add("by hand");
  return kinds.filter((kind) => !missing.has(kind));
}

/** Loads the servers in turn, round after round. */
export async function measureServers(asked: readonly Asked[], isShort: boolean): Promise<Server[]> {
  installPrograms(["wrk"]);
  const servers: Server[] = [];
  try {
    for (const each of asked) servers.push(await startServer(each));
    for (let round = -1; round < (isShort ? 1 : 7); round++) {
      for (const server of servers) {
        const { rate, cost } = load(server, isShort ? 0.5 : 1);
        // The first round warms up.
        if (round < 0) continue;
        server.rates.push(rate);
        server.costs.push(cost);
      }
    }
  } finally {
    for (const { child } of servers) child.kill("SIGKILL");
  }
  return servers;
}

function rowOf({ framework, kind, rates, costs }: Server): Row {
  const peer = PEERS[framework];
  return {
    name: `${framework === "serve" ? "no framework" : framework}: ${kind === "peer" ? peer : kind}`,
    version: kind === "peer" ? versionOf(peer!) : null,
    note: NOTES[kind]!,
    values: { "µs a request": median(costs), "requests a second": median(rates) },
  };
}

function startServer({ framework, kind, root }: Asked): Promise<Server> {
  const file = fileURLToPath(new URL("./http_server.ts", import.meta.url));
  const before = runtime().startsWith("Deno") ? ["run", "-A", "--no-check"] : [];
  const child = spawn(process.execPath, [...before, file, framework, kind], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_ENV: "production", ...(root && { TIDEGATE_ROOT: root }) },
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`Cannot start the server ${framework} ${kind}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const port = Number(line);
      resolve({ framework, kind, root, child, port, rates: [], costs: [] });
    });
  });
}

/** Requests a second, and microseconds of the server's processor time for each. */
function load({ child, port, framework, kind }: Server, seconds: number) {
  const wrk = requireProgram("wrk");
  const before = processorSeconds(child.pid!);
  const { stdout, status } = spawnSync(
    wrk.command,
    [
      "-t1",
      "-c32",
      `-d${Math.ceil(seconds)}s`,
      `http://127.0.0.1:${port}/${framework === "trpc" ? "hello" : ""}`,
    ],
    { env: { ...process.env, ...wrk.env } },
  );
  const used = processorSeconds(child.pid!) - before;
  const text = stdout.toString();
  const count = Number(/(\d+) requests in/.exec(text)?.[1]);
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
  if (status !== 0 || !(count > 0) || /Non-2xx/.test(text)) {
    throw new Error(`Cannot load the server ${framework} ${kind}: ${text}`);
  }
  return { rate, cost: used / count * 1e6 };
}

/** User and system time that a process has used. */
function processorSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(spawnSync("getconf", ["CLK_TCK"]).stdout.toString()) || 100;
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}
