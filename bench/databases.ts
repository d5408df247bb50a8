/*
 * Decisions on Postgres and SQLite, against others, in one run:
 * `npm run bench -- databases --on=node [--short] [--only=postgres,sqlite]`.
 *
 * Starts a Postgres of its own, with the settings that it comes with. Closed loops of 64 callers on the same
 * machine, contestants in turn, round after round; the figures are medians, and ratios to
 * rate-limiter-flexible with a table of the same kind. Its flaw: clients and server share the processors,
 * and there is no network between them, so round trips cost little here.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { canTakePart, connect, contestantsOn } from "./databases/contestants.ts";
import { type PostgresServer, startPostgresServer } from "./databases/postgres_server.ts";
import { median, runtime } from "./measure.ts";
import { crowd } from "./redis/crowd.ts";
import { load, type Run, type Workload, WORKLOADS } from "./redis/load.ts";

/** One situation. */
interface Case {
  readonly title: string;
  readonly processes: number;
  readonly workload: Workload;
  readonly refusing: boolean;
}

const CASES: readonly Case[] = [
  { title: "one hot key", processes: 1, workload: "hot", refusing: false },
  { title: "10,000 Zipf keys", processes: 1, workload: "zipf", refusing: false },
  { title: "one refused hot key", processes: 1, workload: "hot", refusing: true },
  { title: "4 processes, one hot key", processes: 4, workload: "hot", refusing: false },
  { title: "4 processes, 10,000 Zipf keys", processes: 4, workload: "zipf", refusing: false },
];

/** Counts of a server before and after a run. */
interface Server {
  walBytes(): Promise<number>;
  processorTime(): number;
}

/** A run, and the bytes that it wrote to the log of Postgres. */
interface Measured extends Run {
  readonly walBytes: number;
}

async function measure(
  { processes, workload, refusing }: Case,
  name: string,
  place: string,
  milliseconds: number,
  { walBytes, processorTime }: Server,
): Promise<Measured> {
  if (processes > 1) {
    const before = await walBytes();
    // The time of four processes cannot be distinguished from their warm-up.
    const file = new URL("./databases/process.ts", import.meta.url);
    const run = await crowd(processes, name, place, workload, milliseconds, file);
    // The others' warming up is in it, too, and few calls beside the rest.
    return { ...run, walBytes: await walBytes() - before };
  }
  const contestant = await connect(name, place, refusing);
  const keys = WORKLOADS[workload]();
  await load(contestant, 64, milliseconds / 2, keys);
  const [bytes, seconds] = [await walBytes(), processorTime()];
  const run = await load(contestant, 64, milliseconds, keys);
  const walWritten = await walBytes() - bytes;
  const processor = processorTime() - seconds;
  await contestant.close();
  return { ...run, walBytes: walWritten, processor };
}

/** The contestant that another one is compared with: the one with a table of the same kind. */
function standardOf(name: string): string {
  const [database] = name.split(":");
  return `${database}: rate-limiter-flexible${name.endsWith(", logged") ? ", logged" : ""}`;
}

async function show(
  one: Case,
  names: readonly string[],
  placeOf: () => string,
  rounds: number,
  milliseconds: number,
  server: Server,
): Promise<void> {
  const all = new Map<string, Measured[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      all.get(name)!.push(await measure(one, name, placeOf(), milliseconds, server));
    }
  }
  const middle = (name: string, of: (run: Measured) => number) => {
    const runs = all.get(name);
    return runs === undefined ? NaN : median(runs.map(of));
  };
  const rate = (name: string) => middle(name, (run) => run.decisions / run.seconds);
  const slow = (name: string) => middle(name, (run) => run.p99);
  console.log(`\n${one.title}, 64 in flight each`);
  console.table(Object.fromEntries(names.map((name) => {
    const standard = standardOf(name);
    return [name, {
      "decisions/s": Math.round(rate(name)),
      "ratio": round(rate(name) / rate(standard)),
      "p99 ms": round(slow(name)),
      "p99 ratio": round(slow(name) / slow(standard)),
      "longest ms": round(middle(name, (run) => run.longest)),
      "statements": round(middle(name, (run) => run.roundTrips / run.decisions), 3),
      "client us": round(middle(name, (run) => run.client * 1e6 / run.decisions)),
      ...(name.startsWith("postgres") && {
        "server us": round(middle(name, (run) => (run.processor ?? NaN) * 1e6 / run.decisions)),
        "WAL bytes": round(middle(name, (run) => run.walBytes / run.decisions), 1),
      }),
    }];
  })));
}

function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

const short = process.argv.includes("--short");
const given = (name: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3).split(",");
const databases = given("only") ?? ["postgres", "sqlite"];
const cases = given("cases")?.map(Number);
const [rounds, milliseconds] = short ? [3, 400] : [5, 1_000];

async function run(
  database: "postgres" | "sqlite",
  placeOf: () => string,
  server: Server,
): Promise<void> {
  const names = contestantsOn(database);
  const absent = names.filter((name) => !canTakePart(name));
  if (absent.length > 0) {
    console.log(`Left out: ${absent.join("; ")} (npm install --prefix bench/peers)`);
  }
  const present = names.filter(canTakePart);
  for (const [index, one] of CASES.entries()) {
    if (cases !== undefined && !cases.includes(index)) continue;
    await show(one, present, placeOf, rounds, milliseconds, server);
  }
}

console.log(runtime());
if (databases.includes("postgres")) {
  const server: PostgresServer | undefined = await startPostgresServer();
  if (server === undefined) console.log("Left out: Postgres (apt-get install postgresql)");
  else {
    try {
      await run("postgres", () => server.url, server);
    } finally {
      await server.stop();
    }
  }
}
if (databases.includes("sqlite")) {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
  let file = 0;
  try {
    // A new file for each run, so that nobody pays for another's rows.
    await run("sqlite", () => join(folder, `${file++}.db`), {
      walBytes: () => Promise.resolve(0),
      processorTime: () => 0,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
