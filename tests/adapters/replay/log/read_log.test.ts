import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import * as zlib from "node:zlib";
import fc from "fast-check";

import {
  type LogEntry,
  readLog,
  type ReadLogOptions,
  readTrace,
} from "../../../../adapters/replay/replay.ts";
import type { TextSource } from "../../../../adapters/replay/replay.ts";
import { fcOptions } from "../../../support/seed.ts";

async function entriesOf(text: TextSource, options?: ReadLogOptions): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for await (const entry of readLog(text, options)) entries.push(entry);
  return entries;
}

/** Pieces whose memory is used again as soon as the next one is asked for. */
function* overwritten(pieces: readonly (string | Uint8Array)[]): Generator<string | Uint8Array> {
  for (const piece of pieces) {
    yield piece;
    if (typeof piece !== "string") piece.fill(0x78);
  }
}

/** Bytes in pieces of so many. */
function piecesOf(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.slice(at * size, (at + 1) * size));
}

const FORMATS = [
  ...["vhost", "common", "envoy", "alb", "haproxy", "s3", "squid"] as const,
  ...["json", "w3c", "cloudfront", "tsv", "csv"] as const,
];
describe("readLog", () => {
  test("names the fields of the combined form", async () => {
    const line =
      '192.0.2.7 - frank [22/Dec/2016:22:32:31 +0300] "GET /a HTTP/1.0" 200 23 "r" "a b"';
    const seen: unknown[] = [];
    await entriesOf(line, {
      key: ({ fields }) => {
        seen.push(fields);
        return fields["user"]!;
      },
    });
    assert.deepEqual(seen, [{
      ...{ remote_addr: "192.0.2.7", ident: "-", user: "frank", status: "200", bytes: "23" },
      ...{ request: "GET /a HTTP/1.0", method: "GET", url: "/a", referer: "r", agent: "a b" },
      time: "22/Dec/2016:22:32:31 +0300",
    }]);
  });

  const line = (second: number) =>
    `h\u00e9 - - [22/Dec/2016:22:32:${second} +0300] "GET / HTTP/1.1" 200 1\n`;

  test("reads text that is cut anywhere, even inside a character", async () => {
    const lines = [line(10), line(11).replace("h", "\u{1f40c}"), line(12).replace("GET", "\u20ac")];
    // The text fills more than two blocks, and each block ends at a different place in a line.
    const text = lines.join("").repeat(800).trimEnd();
    const bytes = new TextEncoder().encode(text);
    const expected = await entriesOf(text);
    assert.equal(expected.length, 2_400);
    const anyText = fc.constantFrom(text, bytes);
    const anyCuts = fc.array(fc.nat({ max: text.length }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(anyText, anyCuts, async (whole, cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), whole.length];
        const pieces = places.slice(1).map((end, index) => whole.slice(places[index], end));
        assert.deepEqual(await entriesOf(overwritten(pieces)), expected);
      }),
      fcOptions({ numRuns: 20 }),
    );
  });

  test("finds the same form in whatever pieces a log comes", async () => {
    // Clients show only behind the first 64 KiB, and another form behind the first 256 KiB.
    const late = (list: string) =>
      `${line(10).trim().replace("h\u00e9", "10.0.0.1")} "-" "curl" "${list}"\n`;
    const text = late("-").repeat(900) + late("192.0.2.9").repeat(4_000) + "{}\n".repeat(9_000);
    const bytes = new TextEncoder().encode(text);
    const found = async (size: number) => {
      const { log, clients } = await readTrace(overwritten(piecesOf(bytes, size)));
      return { ...log, clients };
    };
    const whole = await found(bytes.length);
    assert.deepEqual([whole.formats, whole.clients], [["common"], ["10.0.0.1", "192.0.2.9"]]);
    for (const size of [997, 65_536, 300_000]) assert.deepEqual(await found(size), whole);
  });

  test("closes a log that cannot be read", async () => {
    let closed = 0;
    function* log(start: readonly number[]) {
      try {
        for (;;) yield Uint8Array.from([...start, ...Array<number>(60_000).fill(10)]);
      } finally {
        closed++;
      }
    }
    const starts = [[110, 111], [0x1f, 0x8b, 0, 0], [0x28, 0xb5, 0x2f, 0xfd]];
    for (const start of starts) {
      await assert.rejects(readTrace(log(start)), /^(Type)?Error: Cannot read a log/);
    }
    // A stream that decompresses is not waited for, because its next piece may never come.
    for (let waits = 0; closed < starts.length && waits < 100; waits++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(closed, starts.length);
  });

  test("refuses pieces that are neither text nor bytes", async () => {
    const bytes = new TextEncoder().encode(line(10));
    for (const log of [bytes, [new DataView(bytes.buffer)], [bytes.buffer], [[104]]]) {
      await assert.rejects(readTrace(log as unknown as TextSource), {
        name: "TypeError",
        message: /^Cannot read a log as its pieces must be text or Uint8Array: /,
      });
    }
  });

  test("reads what follows a first line that is too long, and counts all bytes", async () => {
    const text = `${"x".repeat(2 ** 18)}\n${line(10).repeat(2_000)}`;
    const bytes = new TextEncoder().encode(text);
    for (const size of [1_000, 65_536, 2 ** 18, bytes.length]) {
      const { requests, log } = await readTrace(piecesOf(bytes, size));
      assert.deepEqual([requests, log?.unread, log?.bytes], [2_000, 1, bytes.length]);
    }
  });

  test("takes the seconds of a log from which nothing is read for nothing", async () => {
    const exact = "time,key,method\n2026-11-20T10:00:00.100Z,a,GET\n";
    const whole = "time,key,method\n2026-11-20T10:00:00Z,b,POST\n";
    const logs = [exact, whole].map((log, index) => ({ name: `${index}`, log }));
    const { log } = await readTrace(logs, { where: "method=GET" });
    assert.equal(log?.resolution, 1);
  });

  test("reads compressed data of several parts, with a byte order mark and padding", async () => {
    const zstd = (zlib as Partial<typeof zlib>).zstdCompressSync;
    for (const compress of [zlib.gzipSync, ...(zstd ? [zstd] : [])]) {
      const marked = compress(`\ufeff"key","time"\n"a",1700000000\n`);
      const padding = Buffer.alloc(compress === zlib.gzipSync ? 700 : 0);
      const all = [marked, compress('"b",1700000001\n'), padding];
      const bytes = new Uint8Array(Buffer.concat(all));
      for (const size of [1, 10, bytes.length]) {
        const { clients } = await readTrace(overwritten(piecesOf(bytes, size)), { key: "key" });
        assert.deepEqual(clients, ["a", "b"]);
      }
    }
  });

  test("says of a source that fails what failed, compressed or not", async () => {
    for (const start of [new TextEncoder().encode(line(10)), zlib.gzipSync(line(10))]) {
      const log = async function* () {
        yield start;
        yield await Promise.reject(new Error("the source broke"));
      };
      await assert.rejects(readTrace(log()), { message: "the source broke" });
    }
  });

  test("joins a line that Docker divided, wherever blocks end", async () => {
    const half = (log: string) => `${JSON.stringify({ log, stream: "stdout", time: "t" })}\n`;
    const long = line(10).replace("GET /", `GET /${"x".repeat(20_000)}`);
    const text = `${half(long.slice(0, 16_384))}${half(long.slice(16_384))}{"level":"info"}\n`;
    const { requests, clients, log } = await readTrace(text.repeat(300));
    assert.deepEqual([requests, clients, log?.unread], [300, ["h\u00e9"], 300]);
  });

  test("reads each form from memory that is used again", async () => {
    const quoted = '"h ""b""\nc",1700000000,"x,\ny"\n';
    const wrapped = `{"log":"h - - [22/Dec/2016:22:32:10 +0300] \\"GET / HTTP/1.1\\" 200 1\\n",` +
      '"stream":"stdout","time":"2026-01-01T00:00:00Z"}\n';
    // Bytes that a compressor leaves as they are.
    const random = Array.from(
      { length: 4_000 },
      () => `h,1700000000,${randomBytes(60).toString("hex")}\n`,
    );
    const logs = [
      [`key,time,text\n${quoted.repeat(4_000)}`, 'h "b" c'],
      [wrapped.repeat(4_000), "h"],
      [zlib.gzipSync(`key,time,text\n${random.join("")}`), "h"],
    ] as const;
    for (const [log, key] of logs) {
      const bytes = typeof log === "string" ? new TextEncoder().encode(log) : new Uint8Array(log);
      const pieces = piecesOf(bytes, Math.ceil(bytes.length / 40));
      const entries = await entriesOf(overwritten(pieces));
      assert.equal(entries.length, 4_000);
      assert.ok(entries.every((entry) => entry.key === key));
    }
  });

  test("leaves out lines without the part of a request that is the key", async () => {
    const bad: string[] = [];
    const text = line(10) + line(11).replace("GET / HTTP/1.1", "-");
    const onBadLine = (_line: string, reason: string) => bad.push(reason);
    assert.deepEqual((await entriesOf(text, { key: "url", onBadLine })).map(({ key }) => key), [
      "/",
    ]);
    assert.deepEqual(bad, ["it names no client in url"]);
  });

  test("skips header lines of logs put together", async () => {
    const text = "time,client\r\n2026-11-22T10:00:00Z,a\r\nwhen,b\r\n".repeat(2);
    const { requests, log } = await readTrace(text);
    assert.deepEqual([requests, log?.lines, log?.bytes, log?.unread], [2, 4, text.length, 2]);
    assert.deepEqual(log?.firstUnread.map(({ line }) => line), [3, 6]);
  });

  test("reports lines that are not entries, and gives up on lines that are too long", async () => {
    const bad: string[] = [];
    const text = [line(10), "x".repeat(300), "y".repeat(300), "\n", "nonsense\n", line(11)];
    const onBadLine = (line: string, reason: string) => bad.push(`${line.slice(0, 8)}: ${reason}`);
    assert.equal((await entriesOf(text, { maxLine: 500, onBadLine })).length, 2);
    assert.deepEqual(bad, [
      "xxxxxxxx: it is longer than 500 bytes",
      "nonsense: it is not in the format common",
    ]);
  });

  test("reads on, whatever the lines are, or says that none could be read", async () => {
    const formats = [undefined, ...FORMATS];
    const anyLine = fc.oneof(
      fc.string({ unit: "binary", maxLength: 80 }),
      fc.json(),
      fc.stringMatching(/^[\d.]+ - - \[[\w/: +]{0,30}\] ".*" \d{3} \d+/),
      fc.stringMatching(/^#Fields: (date time|time) c-ip/),
      fc.stringMatching(/^[\d.]{1,13}[\t, ][a-z"]{0,3}[\t, ]/),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...formats), fc.array(anyLine), async (format, lines) => {
        try {
          for (const { at, key, cost } of await entriesOf(lines.join("\n"), { format })) {
            assert.ok(Number.isInteger(at) && at >= 0 && at <= 2 ** 42);
            assert.ok(key !== "" && Number.isSafeInteger(cost) && cost > 0);
          }
        } catch (error) {
          assert.match(String(error), /^TypeError: Cannot read a log (as|because) /);
        }
      }),
      fcOptions({ numRuns: 200 }),
    );
  });

  test("refuses input that is not text, and a maximum line length of 0", async () => {
    for (const text of [undefined, null, 5, {}]) {
      await assert.rejects(entriesOf(text as never), {
        name: "TypeError",
        message: /^Cannot read a log as it must be text, or an iterable .*: current value is /,
      });
    }
    for (const maxLine of [0, NaN]) {
      await assert.rejects(entriesOf("", { maxLine }), {
        name: "RangeError",
        message:
          `Cannot read a log as maxLine must be a positive integer: current value is ${maxLine}`,
      });
    }
  });

  test("refuses a form that it does not know", async () => {
    await assert.rejects(entriesOf("", { format: "xml" as never }), {
      name: "TypeError",
      message: `Cannot read a log as format must be one of ${FORMATS.join(", ")}: ` +
        'current value is "xml"',
    });
  });
});
