/*
 * How fast a log is read, replayed and advised on, and how much memory that takes.
 *
 *   npm run bench -- replay [lines] [clients]
 *   npm run bench -- replay --log=access.log
 *
 * The first form writes a log; its peak of memory counts what that took.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { logsAt } from "../adapters/command/logs_at.ts";
import { advise, readTrace, replay } from "../adapters/replay/replay.ts";
import { traffic } from "../examples/traffic.ts";
import { gcra } from "../mod.ts";

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const [lines = 1_000_000, clients = 20_000] = words.map(Number);
const AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0";
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"];

const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
try {
  const named = process.argv.find((word) => word.startsWith("--log="))?.slice(6);
  const path = named ?? join(folder, "access.log");
  if (named === undefined) writeLog(path);
  const start = performance.now();
  const trace = await readTrace(...logsAt([path], {}));
  const read = performance.now();
  const make = (limit: number) => gcra({ limit, period: "1m", burst: limit });
  await replay(trace, [{ algorithm: make(10), make }]);
  const replayed = performance.now();
  print("read", start, read, trace.requests);
  print("replay", read, replayed, trace.requests);
  print("both", start, replayed, trace.requests);
  const before = performance.now();
  await advise(trace);
  print("advise", before, performance.now(), trace.requests);
  const peak = process.resourceUsage().maxRSS / 1_024;
  console.log(`peak memory ${peak.toFixed(0)} MB, of ${trace.clients.length} clients`);
} finally {
  rmSync(folder, { recursive: true });
}

/** Writes a log of the combined form. */
function writeLog(path: string): void {
  const file = openSync(path, "w");
  let count = 0;
  let text = "";
  for (const { at, key } of traffic("steady", { clients, rate: 400, duration: lines * 3 })) {
    const date = new Date(at);
    const time = `${String(date.getUTCDate()).padStart(2, "0")}/${
      MONTHS[date.getUTCMonth()]
    }/${date.getUTCFullYear()}:${date.toISOString().slice(11, 19)} +0000`;
    text +=
      `${key} - - [${time}] "GET /v1/items/${count % 9_973}?page=${count % 7} HTTP/1.1" 200 ` +
      `${1_000 + count % 4_096} "https://example.com/list" "${AGENT}"\n`;
    if (++count === lines) break;
    if (count % 10_000 !== 0) continue;
    writeSync(file, text);
    text = "";
  }
  writeSync(file, text);
  closeSync(file);
}

function print(what: string, from: number, to: number, requests: number): void {
  const speed = Math.round(requests / (to - from));
  console.log(`${what.padEnd(12)}${(to - from).toFixed(0).padStart(6)} ms, ${speed} k lines/s`);
}
