import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as zlib from "node:zlib";
import fc from "fast-check";

import {
  type LogEntry,
  readTrace,
  type ReadTraceOptions,
  replay,
  type Trace,
} from "../../../adapters/replay/replay.ts";
import { logsAt } from "../../../adapters/command/logs_at.ts";
import { addressKey } from "../../../adapters/http/http.ts";
import { type Algorithm, fixedWindow, gcra } from "../../../mod.ts";
import { inFolder } from "../../support/in_folder.ts";
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

/** How a request is written, by the names in a line. */
const PARTS: Readonly<Record<string, (entry: LogEntry) => unknown>> = {
  key: ({ key }) => key,
  cost: ({ cost }) => cost,
  less: ({ cost }) => cost - 1,
  port: ({ key, cost }) => `${key.includes(":") ? `[${key}]` : key}:${cost}17`,
  milliseconds: ({ at }) => at,
  seconds: ({ at }) => at / 1_000,
  iso: ({ at }) => new Date(at).toISOString(),
  fraction: ({ at }) => String(at % 1_000).padStart(3, "0"),
  date: ({ at }) => new Date(at).toISOString().slice(0, 10),
  clock: ({ at }) => new Date(at).toISOString().slice(11, 19),
  // 22 Dec 2016, as Date has it: Thu, 22 Dec 2016 19:32:31 GMT
  common: ({ at }) => new Date(at).toUTCString().slice(5, 25).replace(/ (\w+) (\d+) /, "/$1/$2:"),
  epa: ({ at }) => {
    const edt = new Date(at - 4 * 3_600_000);
    return `${two(edt.getUTCDate())}:${edt.toISOString().slice(11, 19)}`;
  },
};

/** How a form writes a request. Times are whole seconds if the form has no more digits. */
interface Writer {
  readonly header?: string;
  readonly isExact?: boolean;
  readonly line: string;
  readonly cost: string | string[];
  /** Options without which single lines may be lines of another form; default its format. */
  readonly options?: ReadTraceOptions;
}

/** Writes a request in each form. */
const WRITERS: Readonly<Record<string, Writer>> = {
  common: { line: '{key} - - [{common} +0000] "GET / HTTP/1.1" 200 {cost}', cost: "bytes" },
  vhost: {
    line: 'shop:80 {key} - - [{common} +0000] "GET / HTTP/1.1" 200 {cost} "-" "curl \\"8\\""',
    cost: "bytes",
  },
  epa: {
    line: '{key} [{epa}] "GET /a"b HTTP/1.0" 200 {cost}',
    cost: "bytes",
    options: { format: "common" },
  },
  s3: {
    line:
      '79a5 bucket [{common} +0000] {key} 79a5 3E57 REST.GET.OBJECT a "GET /a HTTP/1.1" 200 - ' +
      '{cost} - 7 - "-" "S3Console/0.4" -',
    cost: "bytes",
  },
  haproxy: {
    line:
      "Feb  6 12:14:14 localhost haproxy[14389]: {port} [{common}.{fraction}] in~ static/srv1 " +
      '10/0/30/69/109 200 {cost} - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET / HTTP/1.1"',
    isExact: true,
    cost: "bytes",
  },
  squid: {
    isExact: true,
    line: "{seconds}    180 {key} TCP_MISS/200 {cost} GET http://example.com/ - DIRECT/192.0.2.9 -",
    cost: "bytes",
  },
  pattern: {
    isExact: true,
    line: 'at={seconds} "{key}" {cost} | end',
    cost: "bytes_sent",
    options: { pattern: 'at=$msec "$http_x_forwarded_for" $bytes_sent | end' },
  },
  envoy: {
    isExact: true,
    line: '[{iso}] "GET / HTTP/2" 200 - {cost} 0 1 - "{key}" "-" "-" "-" "-"',
    cost: "bytes_received",
  },
  alb: {
    isExact: true,
    line: 'https {iso} app/x {port} - 0 0 0 200 200 {cost} 1 "GET https://x:443/ HTTP/1.1" "-" ' +
      '- - - "-" "-"',
    cost: "received_bytes",
  },
  json: {
    isExact: true,
    line: '{"ts":{seconds},"request":{"client_ip":"{key}","size":{cost}}}',
    cost: "request.size",
  },
  w3c: {
    header: "#Version: 1.0\n#Fields: date time c-ip sc-bytes\n",
    line: "{date} {clock} {key} {cost}",
    cost: "sc-bytes",
  },
  cloudfront: {
    header: "#Fields: date time sc-bytes c-ip\n",
    line: "{date}\t{clock}\t{cost}\t{key}",
    cost: "sc-bytes",
  },
  tsv: {
    isExact: true,
    header: "host\tlogname\ttime\tunits\n",
    line: "{key}\t-\t{milliseconds}\t{cost}",
    cost: "units",
  },
  csv: {
    isExact: true,
    header: 'time,"in, or so",out,client\n',
    line: '{iso},{less},1,"{key}"',
    cost: ["in, or so", "out"],
  },
};

/** A log of a form. */
function textOf(format: string, entries: readonly LogEntry[]): string {
  const { header = "", line } = WRITERS[format]!;
  const lines = entries.map((entry) =>
    line.replace(/\{(\w+)\}/g, (_, name) => String(PARTS[name]!(entry)))
  );
  return header + lines.join("\n");
}

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

/** The entries as they are read: addresses by their networks, whole seconds spread by their lines. */
function asRead(entries: readonly LogEntry[], isCoarse: boolean): readonly LogEntry[] {
  return entries.map(({ at, key, cost }, index) => {
    const inSecond = entries.filter((entry) => entry.at === at);
    const before = entries.slice(0, index).filter((entry) => entry.at === at).length;
    const offset = isCoarse ? Math.floor(before * 1_000 / inSecond.length) : 0;
    return { at: at + offset, key: addressKey(key) ?? key, cost };
  });
}

function sumOf(units: readonly number[]): number {
  return units.reduce((sum, count) => sum + count, 0);
}

/** The requests of a trace, in the order in which they came. */
function entriesOf({ clients, counts, at, cost, order }: Trace): readonly LogEntry[] {
  const keys = clients.flatMap((key, client) => Array<string>(counts[client]!).fill(key));
  return [...at.keys()].sort((one, other) => order[one]! - order[other]!)
    .map((row) => ({ at: at[row]!, key: keys[row]!, cost: cost?.[row] ?? 1 }));
}

/** Requires a replay of a log to agree with a naive count, in every respect. */
async function requireAgreement(
  source: readonly LogEntry[] | Trace,
  entries: readonly LogEntry[],
  limit: number,
): Promise<void> {
  const ordered = entries.toSorted((one, other) => one.at - other.at);
  const keys = new Set(ordered.map(({ key }) => key));
  const candidates = FAMILIES.map(({ name, make }) => ({ name, algorithm: make(limit), make }));
  const report = await replay(source, candidates, { topClients: keys.size });
  assert.deepEqual(
    [report.requests, report.units, report.clients, report.start, report.end],
    [
      ordered.length,
      ordered.reduce((sum, { cost }) => sum + cost, 0),
      ...[keys.size, ordered[0]!.at, ordered.at(-1)!.at],
    ],
  );
  report.candidates.forEach((candidate, index) => {
    const { denied, deniedUnits, delay, clientsHit, clients, timeline, smallest } = candidate;
    const { algorithm, name, make } = candidates[index]!;
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
    if (smallest === Infinity) return;
    assert.equal(recount(ordered, make(smallest!)).denied, 0, name);
    if (smallest! > 1) assert.ok(recount(ordered, make(smallest! - 1)).denied > 0, name);
  });
}

test("a naive recount of a drawn log agrees, to the last call", async () => {
  await fc.assert(
    fc.asyncProperty(drawnLog, fc.integer({ min: 1, max: 6 }), async (entries, limit) => {
      await requireAgreement(entries, entries, limit);
    }),
    fcOptions({ numRuns: 60 }),
  );
});

describe("a drawn log is read to the last call", () => {
  for (const [format, { isExact = false, cost, options }] of Object.entries(WRITERS)) {
    test(`in the form ${format}`, async () => {
      await fc.assert(
        fc.asyncProperty(
          ...[drawnLog, fc.integer({ min: 1, max: 300 }), fc.boolean(), fc.boolean()] as const,
          async (drawn, size, isCompressed, hasCost) => {
            const entries = drawn.map(({ at, key, cost }) => ({
              at: isExact ? at : at - at % 1_000,
              key,
              cost: hasCost ? cost : 1,
            }));
            const text = new TextEncoder().encode(textOf(format, entries));
            const pieces = inPieces(isCompressed ? zlib.gzipSync(text) : text, size);
            // Single lines of one form may be lines of another.
            const known = format === "pattern"
              ? options
              : entries.length < 3
              ? options ?? { format: format as never }
              : {};
            const trace = await readTrace(pieces, { ...(hasCost ? { cost } : {}), ...known });
            // A JSON number without a fraction is a whole second.
            const isWhole = format === "json" && entries.every(({ at }) => at % 1_000 === 0);
            assert.deepEqual(entriesOf(trace), asRead(entries, !isExact || isWhole));
          },
        ),
        fcOptions({ numRuns: 40 }),
      );
    });
  }

  // Each form in the long run: all of them are read by the same blocks.
  const ENTRIES = isLong() ? 12_000 : 1_500;
  const onFiles = isLong() ? Object.keys(WRITERS) : ["vhost"];
  test("on a file and its compressed forms", async () => {
    for (const format of onFiles) await requireAgreementOnFiles(format);
  });

  function requireAgreementOnFiles(format: string): Promise<void> {
    return inFolder(async (folder) => {
      const entries = Array.from({ length: ENTRIES }, (_, index): LogEntry => ({
        at: START + Math.floor(index * 40 / 3_000) * 1_000 - (index % 7) * 1_000,
        key: `10.0.${index % 83}.${(index * index) % 251}`,
        cost: 1 + index % 3,
      }));
      const { cost } = WRITERS[format]!;
      const read = asRead(entries, WRITERS[format]!.isExact !== true);
      const text = textOf(format, entries);
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
      for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
      const open = (name: string) => readTrace(logsAt([join(folder, name)], {})[0], { cost });
      const reportOf = async (name: string) => {
        const candidates = FAMILIES.map(({ name, make }) => ({ name, algorithm: make(4), make }));
        return await replay(await open(name), candidates);
      };
      // The others must read the same as this one, which the naive count agrees with.
      await requireAgreement(await open("log"), read, 4);
      const first = await reportOf("log");
      for (const [name] of files.slice(1)) assert.deepEqual(await reportOf(name), first, name);
    });
  }
});
