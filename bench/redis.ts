/*
 * Decisions on Redis, against others, in one run: `npm run bench -- redis --on=node [--short]`.
 * `--only=0,verbs` runs the cases at these places, and the table of verbs.
 *
 * Measures closed loops against one redis-server on the same machine, contestants in turn, round
 * after round; the figures are medians, and ratios to rate-limiter-flexible. Its flaw: clients and
 * server share the processors, and there is no network between them, so round trips cost little
 * here. Where they cost more, a contestant with fewer of them gains more.
 */

import process from "node:process";

import { median, runtime } from "./measure.ts";
import { canTakePart, connect, CONTESTANTS } from "./redis/contestants.ts";
import { crowd } from "./redis/crowd.ts";
import { load, type Run, type Workload, WORKLOADS } from "./redis/load.ts";
import { type Server, startServer } from "./redis/server.ts";
import { verbsOnRedis } from "./redis/verbs.ts";

/** The contestant that others are compared with. */
const STANDARD = "rate-limiter-flexible";

/** One situation, and how a contestant does in it. */
interface Case {
  readonly title: string;
  readonly names: readonly string[];
  readonly standard: string;
  run(server: Server, name: string, milliseconds: number): Promise<Run>;
}

/** The columns of the table in docs/internals/redis.md. */
const COLUMNS = ["script", "cas", "watch", "lua", "rate-limiter-flexible", "rate-limit-redis"];

/** The figures of a contestant in one round. */
interface Figures {
  readonly perSecond: number;
  readonly p99: number;
  readonly roundTrips: number;
  readonly microseconds: number;
  readonly client: number;
}

function inOneProcess(title: string, workload: Workload, inFlight: number): Case {
  return {
    title,
    names: [...CONTESTANTS, "two by auto", "bare batch"],
    standard: STANDARD,
    run: (server, name, milliseconds) =>
      alone(server, name, workload, inFlight, milliseconds, false),
  };
}

function inProcesses(processes: number, workload: Workload): Case {
  return {
    title: `${processes} processes, ${workload}, 64 in flight each`,
    names: CONTESTANTS,
    standard: STANDARD,
    run: (server, name, milliseconds) => crowd(processes, name, server.url, workload, milliseconds),
  };
}

const CASES: readonly Case[] = [
  inOneProcess("one hot key, 64 in flight", "hot", 64),
  inOneProcess("one hot key, 512 in flight", "hot", 512),
  inOneProcess("10,000 Zipf keys, 64 in flight", "zipf", 64),
  inOneProcess("one hot key, 1 in flight", "hot", 1),
  {
    title: "one refused hot key, 64 in flight",
    names: ["watch", "cas", "watch+denyCache", "cas+denyCache", "lua", "rate-limiter-flexible"],
    standard: "lua",
    run: (server, name, milliseconds) => alone(server, name, "hot", 64, milliseconds, true),
  },
  inProcesses(4, "hot"),
  inProcesses(4, "zipf"),
  inOneProcess("a million Zipf keys, 64 in flight", "zipf of a million", 64),
  inOneProcess("200,000 keys alike, 64 in flight", "200,000 alike", 64),
];

async function alone(
  server: Server,
  name: string,
  workload: Workload,
  inFlight: number,
  milliseconds: number,
  refusing: boolean,
): Promise<Run> {
  const contestant = await connect(name, server.url, refusing);
  const keys = WORKLOADS[workload]();
  await load(contestant, inFlight, milliseconds, keys);
  const before = await server.processorTime();
  const run = await load(contestant, inFlight, milliseconds, keys);
  const processor = await server.processorTime() - before;
  await contestant.close();
  return { ...run, processor };
}

/** Prints the figures of a case. Returns its row of the table in docs/internals/redis.md. */
async function show(
  server: Server,
  one: Case,
  rounds: number,
  milliseconds: number,
): Promise<string> {
  const names = one.names.filter(canTakePart);
  const standard = names.includes(one.standard) ? one.standard : "lua";
  const all = new Map<string, Figures[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const run = await one.run(server, name, milliseconds);
      const { decisions, seconds, p99, roundTrips, client, processor } = run;
      all.get(name)!.push({
        perSecond: decisions / seconds,
        p99,
        roundTrips: roundTrips / decisions,
        client: client * 1e6 / decisions,
        microseconds: processor === undefined ? NaN : processor * 1e6 / decisions,
      });
    }
  }
  const middle = (name: string, of: (figures: Figures) => number) => median(all.get(name)!.map(of));
  const rate = (name: string) => middle(name, (figures) => figures.perSecond);
  const slow = (name: string) => middle(name, (figures) => figures.p99);
  console.log(`\n${one.title} (ratios to ${standard})`);
  console.table(Object.fromEntries(names.map((name) => [name, {
    "decisions/s": Math.round(rate(name)),
    "ratio": round(rate(name) / rate(standard)),
    "p99 ms": round(slow(name)),
    "p99 ratio": round(slow(name) / slow(standard)),
    "round trips": round(middle(name, (figures) => figures.roundTrips), 3),
    "client us": round(middle(name, (figures) => figures.client)),
    "Redis us": round(middle(name, (figures) => figures.microseconds)) || "-",
  }])));
  const cellOf = (name: string) => {
    if (!names.includes(name)) return "";
    const redis = round(middle(name, ({ microseconds }) => microseconds), 1);
    const cost = redis > 0 ? `${round(middle(name, ({ client }) => client), 1)} + ${redis}` : "";
    const ratio = round(rate(name) / rate(standard), 1);
    return `${ratio} (${round(slow(name) / slow(standard), 1)}) ${cost}`.trim();
  };
  const [situation] = one.title.split(", 64 in flight");
  return `| ${situation} | ${COLUMNS.map(cellOf).join(" | ")} |`;
}

function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

const short = process.argv.includes("--short");
const only = process.argv.find((word) => word.startsWith("--only="))?.slice(7).split(",");
const server = await startServer();
console.log(runtime());
const absent = CONTESTANTS.filter((name) => !canTakePart(name));
if (absent.length > 0) {
  console.log(`Left out: ${absent.join(", ")} (npm install --prefix bench/peers)`);
}
const rows = [`|  | ${COLUMNS.join(" | ")} |`, `| --- |${" --- |".repeat(COLUMNS.length)}`];
try {
  for (const [index, one] of CASES.entries()) {
    if (only !== undefined && !only.includes(String(index))) continue;
    rows.push(await show(server, one, short ? 3 : 5, short ? 300 : 900));
  }
  if (only === undefined || only.includes("verbs")) {
    await verbsOnRedis(server, short ? 3 : 5, short ? 200 : 600);
  }
  console.log(`\nThe table of docs/internals/redis.md:\n\n${rows.join("\n")}`);
} finally {
  await server.stop();
}
