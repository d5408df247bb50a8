/*
 * Draws the plots of docs/algorithms.md, and prints the figures of its tables.
 *
 *   bun bench/algorithm_plots.ts <azure-llm-conv.csv> [<nasa.tsv>] [<scanner.log>]
 *
 * The first log is the Azure LLM inference trace of 2023 (conversations), CC-BY 4.0, from
 * Azure/AzurePublicDataset. The others are the web server of NASA on 1 August 1995 and a
 * vulnerability scanner's requests; neither is part of the package. Without logs only the
 * simulations are drawn.
 */
import { createReadStream, mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";

import { seriesPlot } from "./series_plot.ts";
import {
  type LogSource,
  readLog,
  type ReadLogOptions,
  replay,
  replayTable,
} from "../adapters/replay/replay.ts";
import { CROWDS, peak, requestsPerSecond, SETTLED } from "../examples/stampede.ts";
import {
  admittedAt,
  AT_THE_EDGE,
  LIMITS,
  mostInAMinute,
  WITHOUT_END,
} from "../examples/window_edge.ts";
import {
  type Algorithm,
  fixedWindow,
  gcra,
  slidingCounter,
  slidingLog,
  slidingWindow,
} from "../mod.ts";
import { timelinePlot } from "./timeline_plot.ts";

const FOLDER = new URL("../docs/plots/", import.meta.url);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const [azure, nasa, scanner] = process.argv.slice(2);

mkdirSync(FOLDER, { recursive: true });
drawMinutes();
drawStampede();
if (azure !== undefined) await drawTokens(azure);
if (nasa !== undefined) await printWebServer(nasa);
if (scanner !== undefined) await printScanner(scanner);

function write(name: string, plot: string): void {
  writeFileSync(new URL(name, FOLDER), `${plot}\n`);
  console.log(`docs/plots/${name}: ${plot.length} characters`);
}

/** A client at the edge of a window, all limits with the same burst; and one that never stops. */
function drawMinutes(): void {
  const sameBurst = LIMITS.filter(([name]) => !name.includes("burst"));
  const unit = "units admitted within the last minute; the limit is 100";
  write(
    "window_edge.svg",
    seriesPlot("100 a minute, at the edge of a window", lastMinute(sameBurst, AT_THE_EDGE, 8), {
      limit: 100,
      unit: `${unit}; the minute ends at 4 s`,
    }),
  );
  write(
    "without_end.svg",
    seriesPlot("100 a minute, a client that never stops", lastMinute(LIMITS, WITHOUT_END, 150), {
      limit: 100,
      unit,
    }),
  );
}

/** Units admitted within the last minute, for so many seconds. */
function lastMinute(limits: typeof LIMITS, asked: readonly number[], seconds: number) {
  const start = asked[0]! - 2 * SECOND;
  return limits.map(([name, algorithm]) => {
    const admitted = admittedAt(algorithm, asked);
    console.log(`${name}: ${mostInAMinute(admitted)} within a minute`);
    const points = Array.from({ length: 301 }, (_, index) => {
      const at = start + index * seconds * SECOND / 300;
      const within = admitted.filter((instant) => instant <= at && instant > at - MINUTE).length;
      return [at - start, within] as const;
    });
    return { name, points };
  });
}

/** Requests per second of a crowd. */
function drawStampede(): void {
  for (const crowd of CROWDS) {
    const seconds = requestsPerSecond(crowd);
    const settled = peak(seconds.slice(SETTLED));
    console.log(`${crowd.name}: peak ${peak(seconds)} requests in a second, ${settled} settled`);
  }
  const shown = CROWDS.filter(({ name }) => !name.includes("first"));
  const series = shown.map((crowd) => ({
    name: crowd.name,
    points: requestsPerSecond(crowd).map((requests, second) =>
      [second * SECOND, requests] as const
    ),
  }));
  const unit = "requests a second; 500 clients with a limit of 10 a minute each";
  write("stampede.svg", seriesPlot("A stampede of synchronised resets", series, { unit }));
}

/** Tokens a minute of a language model's service: costs, and no clients. */
async function drawTokens(path: string): Promise<void> {
  const log = logOf(path, {
    format: "csv",
    cost: ({ fields }) => Number(fields["ContextTokens"]) + Number(fields["GeneratedTokens"]),
  });
  const limit = 450_000;
  const candidates = families("1m").map(({ name, make }) => ({ name, algorithm: make(limit) }));
  const report = await replay(log, candidates);
  console.log(`\n${limit} tokens a minute\n${replayTable(report)}`);
  const panels = report.candidates.map(({ name, timeline }) => ({ name, bins: timeline }));
  write("tokens_timeline.svg", timelinePlot("450,000 tokens a minute, an hour of traffic", panels));
}

/** A web server's clients. */
async function printWebServer(path: string): Promise<void> {
  const log = logOf(path, { format: "tsv" });
  const candidates = families("10s").map(({ name, make }) => ({ name, algorithm: make(10), make }));
  console.log(`\n10 requests in 10 s\n${replayTable(await replay(log, candidates))}`);
}

async function printScanner(path: string): Promise<void> {
  const candidates = families("10s").map(({ name, make }) => ({ name, algorithm: make(10) }));
  console.log(`\nthe scanner\n${replayTable(await replay(logOf(path, {}), candidates))}`);
}

function logOf(path: string, options: ReadLogOptions): LogSource {
  return () => readLog(createReadStream(path), options);
}

function families(
  period: "10s" | "1m",
): { readonly name: string; readonly make: (limit: number) => Algorithm }[] {
  return [
    { name: "fixedWindow", make: (limit) => fixedWindow({ limit, period }) },
    { name: "slidingCounter", make: (limit) => slidingCounter({ limit, period }) },
    {
      name: "slidingWindow 1 s",
      make: (limit) => slidingWindow({ limit, period, precision: "1s" }),
    },
    { name: "slidingLog", make: (limit) => slidingLog({ limit, period }) },
    { name: "gcra", make: (limit) => gcra({ limit, period, burst: limit }) },
  ];
}
