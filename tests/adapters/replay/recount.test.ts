import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as zlib from "node:zlib";
import fc from "fast-check";

import {
  type LogEntry,
  type ReadLogOptions,
  readTrace,
  type ReadTraceOptions,
  replay,
  sweep,
  type TextSource,
} from "../../../adapters/replay/replay.ts";
import { type Algorithm, fixedWindow, gcra } from "../../../mod.ts";
import { names, policy } from "../../support/policies.ts";
import { fcOptions, isLong } from "../../support/seed.ts";
import { recount } from "./support/recount.ts";

/** Every algorithm, with a limit. */
const FAMILIES: readonly { name: string; make: (limit: number) => Algorithm }[] = [
  ...names.map((name) => ({ name, make: (limit: number) => policy(name, limit, 10_800) })),
  { name: "first", make: (limit) => fixedWindow({ limit, period: "10s", anchor: "first" }) },
  { name: "burst", make: (limit) => gcra({ limit, period: "10s", burst: 3 }) },
];

const two = (number: number) => String(number).padStart(2, "0");
const clock = (at: number) => new Date(at).toISOString().slice(11, 19);
const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** `22/Dec/2016:19:32:31`. */
function commonTime(at: number): string {
  const date = new Date(at);
  const month = date.getUTCMonth() * 3;
  return `${two(date.getUTCDate())}/${MONTHS.slice(month, month + 3)}/${date.getUTCFullYear()}:${
    clock(at)
  }`;
}

/** How each form writes a request; times are whole seconds where it cannot say more. */
const WRITERS: Readonly<
  Record<string, {
    readonly header?: string;
    readonly isExact?: boolean;
    readonly line: (entry: LogEntry) => string;
    readonly options?: ReadLogOptions;
  }>
> = {
  common: {
    line: ({ at, key, cost }) =>
      `${key} - - [${commonTime(at)} +0000] "GET / HTTP/1.1" 200 ${cost}`,
    options: { cost: "bytes" },
  },
  vhost: {
    line: ({ at, key, cost }) =>
      `shop:80 ${key} - - [${
        commonTime(at)
      } +0000] "GET / HTTP/1.1" 200 ${cost} "-" "curl \\"8\\""`,
    options: { cost: "bytes" },
  },
  epa: {
    line: ({ at, key, cost }) => {
      const edt = at - 4 * 3_600_000;
      const day = two(new Date(edt).getUTCDate());
      return `${key} [${day}:${clock(edt)}] "GET /a"b HTTP/1.0" 200 ${cost}`;
    },
    options: { cost: "bytes" },
  },
  envoy: {
    isExact: true,
    line: ({ at, key, cost }) =>
      `[${new Date(at).toISOString()}] "GET / HTTP/2" 200 - ${cost} 0 1 - "${key}" "-" "-" "-" "-"`,
    options: { cost: "bytes_received" },
  },
  alb: {
    isExact: true,
    line: ({ at, key, cost }) =>
      `https ${new Date(at).toISOString()} app/x ${
        key.includes(":") ? `[${key}]` : key
      }:${cost}17 - 0 0 0 200 200 ${cost} 1 "GET https://x:443/ HTTP/1.1" "-" - - - "-" "-"`,
    options: { cost: "received_bytes" },
  },
  json: {
    isExact: true,
    line: ({ at, key, cost }) =>
      JSON.stringify({ ts: at / 1_000, request: { client_ip: key, size: cost } }),
    options: { cost: "request.size" },
  },
  w3c: {
    header: "#Version: 1.0\n#Fields: date time c-ip sc-bytes\n",
    line: ({ at, key, cost }) =>
      `${new Date(at).toISOString().slice(0, 10)} ${clock(at)} ${key} ${cost}`,
    options: { cost: "sc-bytes" },
  },
  cloudfront: {
    header: "#Fields: date time sc-bytes c-ip\n",
    line: ({ at, key, cost }) =>
      `${new Date(at).toISOString().slice(0, 10)}\t${clock(at)}\t${cost}\t${key}`,
    options: { cost: "sc-bytes" },
  },
  tsv: {
    isExact: true,
    header: "host\ttime\tunits\n",
    line: ({ at, key, cost }) => `${key}\t${at}\t${cost}`,
    options: { cost: "units" },
  },
  csv: {
    isExact: true,
    header: 'time,"in, or so",out,client\n',
    line: ({ at, key, cost }) => `${new Date(at).toISOString()},${cost - 1},1,"${key}"`,
    options: { cost: ["in, or so", "out"] },
  },
};

const START = Date.UTC(1995, 7, 29, 12);
const drawnLog = fc.array(
  fc.record({
    at: fc.nat({ max: 60_000 }).map((at) => START + at),
    key: fc.constantFrom("192.0.2.1", "192.0.2.2", "2001:db8::1", "host.example"),
    cost: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 80 },
);

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await bytes.subarray(at, at + size);
}

function sumOf(units: readonly number[]): number {
  return units.reduce((sum, count) => sum + count, 0);
}

/** Requires a replay and a sweep of a log to agree with a naive count, in every respect. */
async function requireAgreement(
  entries: readonly LogEntry[],
  text: TextSource,
  options: ReadTraceOptions,
  limit: number,
): Promise<void> {
  const ordered = entries.toSorted((one, other) => one.at - other.at);
  const trace = await readTrace(text, options);
  const candidates = FAMILIES.map(({ name, make }) => ({ name, algorithm: make(limit), make }));
  const report = await replay(trace, candidates, { topClients: trace.clients.length });
  assert.deepEqual(
    [report.requests, report.units, report.clients, report.start, report.end],
    [
      ordered.length,
      ordered.reduce((sum, { cost }) => sum + cost, 0),
      new Set(ordered.map(({ key }) => key)).size,
      ordered[0]!.at,
      ordered.at(-1)!.at,
    ],
  );
  report.candidates.forEach((candidate, place) => {
    const { denied, deniedUnits, delay, clientsHit, clients, timeline } = candidate;
    const { algorithm, name } = candidates[place]!;
    const expected = recount(ordered, algorithm);
    const { byClient } = expected;
    assert.deepEqual([denied, deniedUnits, delay, clientsHit], [
      ...[expected.denied, expected.deniedUnits, expected.delay, byClient.size],
    ], name);
    for (const client of clients) {
      assert.equal(client.denied, byClient.get(client.key) ?? 0, name);
      assert.equal(sumOf(client.timeline.denied) > 0, client.denied > 0, name);
    }
    assert.equal(sumOf(timeline.denied), deniedUnits, name);
    assert.equal(sumOf(timeline.allowed), report.units - deniedUnits, name);
  });
  for (const { smallest, name } of report.candidates) {
    const { make } = FAMILIES.find((family) => family.name === name)!;
    if (smallest === Infinity) continue;
    assert.equal(recount(ordered, make(smallest!)).denied, 0, name);
    if (smallest! > 1) assert.ok(recount(ordered, make(smallest! - 1)).denied > 0, name);
  }
}

describe("a naive recount agrees, to the last call,", () => {
  for (const [format, { header = "", isExact = false, line, options }] of Object.entries(WRITERS)) {
    test(`on drawn logs of the form ${format}`, async () => {
      await fc.assert(
        fc.asyncProperty(
          drawnLog,
          fc.integer({ min: 1, max: 6 }),
          fc.integer({ min: 1, max: 300 }),
          fc.boolean(),
          fc.boolean(),
          async (drawn, limit, size, isCompressed, hasCost) => {
            const entries = drawn.map(({ at, key, cost }) => ({
              at: isExact ? at : at - at % 1_000,
              key,
              cost: hasCost ? cost : 1,
            }));
            const text = new TextEncoder().encode(header + entries.map(line).join("\n"));
            const bytes = isCompressed ? zlib.gzipSync(text) : text;
            const pieces = inPieces(bytes, size);
            // Single lines of one form may be lines of another.
            const known = entries.length < 3 ? { format: format as never } : {};
            await requireAgreement(
              entries,
              pieces,
              { ...(hasCost ? options : {}), ...known },
              limit,
            );
          },
        ),
        fcOptions({ numRuns: 40 }),
      );
    });
  }

  // Each form in the long run: all of them are read by the same blocks.
  const ENTRIES = isLong() ? 12_000 : 4_000;
  const onFiles = isLong() ? Object.keys(WRITERS) : ["vhost"];
  test("on a file and its compressed forms, with threads and without", async () => {
    for (const format of onFiles) await requireAgreementOnFiles(format);
  });

  async function requireAgreementOnFiles(format: string): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), "tidegate-recount-"));
    try {
      const entries = Array.from({ length: ENTRIES }, (_, place): LogEntry => ({
        at: START + Math.floor(place / 3) * 40 - (place % 7) * 1_000,
        key: `10.0.${place % 83}.${(place * place) % 251}`,
        cost: 1 + place % 3,
      })).map((entry) => ({ ...entry, at: entry.at - entry.at % 1_000 }));
      const { line, options, header = "" } = WRITERS[format]!;
      const text = header + entries.map(line).join("\n");
      const zstd = (zlib as Partial<typeof zlib>).zstdCompressSync;
      const files: [name: string, bytes: Uint8Array | string][] = [
        ["log", text],
        ["log.gz", zlib.gzipSync(text)],
        // Two members, as of logs that were put together.
        [
          "two.gz",
          Buffer.concat([zlib.gzipSync(text.slice(0, 9_999)), zlib.gzipSync(text.slice(9_999))]),
        ],
        ...(zstd === undefined ? [] : [["log.zst", zstd(text)] as [string, Uint8Array]]),
      ];
      let first: unknown;
      for (const [name, bytes] of files) {
        const path = join(folder, name);
        writeFileSync(path, bytes);
        const open = () => createReadStream(path, { highWaterMark: 1 << 16 });
        // The others must read the same as this one, which the naive count agrees with.
        if (name === "log") await requireAgreement(entries, open(), { ...options }, 4);
        const alone = await readTrace(open(), options);
        const threaded = await readTrace(open(), { ...options, threads: 3 });
        const reports = await Promise.all([alone, threaded].map(async (trace) => [
          await replay(
            trace,
            FAMILIES.map(({ name, make }) => ({ name, algorithm: make(4), make })),
          ),
          await sweep(trace, FAMILIES.slice(0, 4)),
        ]));
        first ??= reports[0];
        assert.deepEqual(reports[1], reports[0], name);
        assert.deepEqual(reports[0], first, name);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
});
