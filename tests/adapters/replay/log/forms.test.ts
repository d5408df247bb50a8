import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Buffer } from "node:buffer";
import * as zlib from "node:zlib";
import fc from "fast-check";

import {
  type LogEntry,
  readLog,
  type ReadLogOptions,
  readTrace,
  replay,
} from "../../../../adapters/replay/replay.ts";
import { gcra } from "../../../../mod.ts";
import { fcOptions } from "../../../support/seed.ts";
import { FIXTURES } from "../support/log_fixtures.ts";

describe("the forms of logs, found by themselves", () => {
  for (const { what, format, text, options, entries } of FIXTURES) {
    test(what, async () => {
      const expected = entries.map(([at, key, cost = 1]): LogEntry => ({ at, key, cost }));
      assert.deepEqual(await Array.fromAsync(readLog(text, options)), expected);
      const { log, requests } = await readTrace(text, options);
      assert.deepEqual([log?.formats, requests], [[format], entries.length]);
    });
  }
});

describe("a log with too little information", () => {
  const COMBINED =
    '192.0.2.7 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 5382 "-" "curl"\n';
  const LINES = "in24.example\t-\t807249601\n";
  const cases: [what: string, text: string, options: ReadLogOptions, message: RegExp][] = [
    [
      "names the columns that there are",
      `host\tlogname\ttime\n${LINES}`,
      { key: "frob" },
      /^Cannot read a log as key must name one of its columns: current value is "frob"; its columns are host, logname, time$/,
    ],
    [
      "names the paths that there are",
      '{"ts":1,"a":{"b":[2,3]}}\n',
      { cost: ["a.b.1", "c"] },
      /as cost must name one of its columns: current value is "c"; its columns are ts, a\.b\.0, a\.b\.1$/,
    ],
    [
      "names the columns where none holds the time, and the options that name others",
      `host\tlogname\twhen\n${LINES}`,
      {},
      /^Cannot read a log because no column has a usual name for the time, such as time or timestamp: its columns are host, logname, when\. Name the one that holds the time with --time NAME \(in code columns\.time\)$/,
    ],
    [
      "names the columns where the one for the time is none of them",
      `host\tlogname\twhen\n${LINES}`,
      { columns: { time: "then" }, format: "tsv" },
      /as time must name one of its columns: current value is "then"; its columns are host, logname, when$/,
    ],
    [
      "shows times that cannot be read",
      '{"time":"noon","user":"ada"}\n{"time":"one","user":"ada"}\n',
      {},
      /format json: none of 2 could be read\n {2}line 1: .*: no valid time in column time\n.* line 2: .*\nits columns are time, user; name those/,
    ],
    [
      "names the variables of a pattern where none holds the time",
      "192.0.2.7 200\n",
      { pattern: "$remote_addr $status" },
      /no column has a usual name for the time, .*: its columns are remote_addr, status\. Name/,
    ],
    [
      "shows the lines that a pattern does not fit",
      "192.0.2.7 200\n",
      { pattern: "%h %t" },
      /^Cannot read a log as its lines must have the given pattern:\n {2}line 1: "192\.0\.2\.7 200": `\$remote_host \[` must stand where it has `192\.0\.2\.7 200`$/,
    ],
    [
      "shows where a variable is missing from a pattern",
      COMBINED,
      { pattern: '$remote_addr - $remote_user [$time_local] "$request" $status "$http_referer"' },
      /given pattern:\n {2}line 1: "192.*": `" \$status "` must stand where it has `" 200 5382 "-" "curl"`\n.* it reads as common$/,
    ],
    [
      "shows that a line goes on after the pattern's last variable",
      COMBINED,
      { pattern: '$remote_addr - $remote_user [$time_local] "$request" $status' },
      /`" \$status` must stand where it has `" 200 5382 /,
    ],
    [
      "says that a log needs no pattern",
      '{"time":1,"client":"a"}\n',
      { pattern: "$remote_addr $status $time_local" },
      /must stand where it ends\nwithout a pattern, it reads as json$/,
    ],
    ...[
      'log_format main \'$remote_addr [$time_local] "$request" $status;',
      "'$remote_addr [$time_local]' $status;",
      'LogFormat "%h %t \\"%r\\" %>s combined',
    ].map((pattern): typeof cases[number] => [
      `refuses a pattern with an open quote: ${pattern}`,
      COMBINED,
      { pattern },
      /as pattern must close each quote/,
    ]),
    [
      "refuses a definition of nginx's without its first word",
      COMBINED,
      { pattern: "main '$remote_addr [$time_local] '\n '$status';" },
      /as pattern must begin with log_format, or with its text: current value is "main /,
    ],
    [
      "refuses a format beside a pattern",
      COMBINED,
      { pattern: "%h %t", format: "common" },
      /as format must not be given beside pattern: current value is "common"$/,
    ],
    [
      "refuses proxies that are no addresses",
      COMBINED,
      { proxies: ["balancer"] },
      /^Cannot read a log as proxies must hold addresses and networks, .*: current value is "balancer"$/,
    ],
    [
      "refuses a pattern without variables",
      "192.0.2.7 200\n",
      { pattern: "combined" },
      /as pattern must be in the words of nginx's log_format or of Apache's LogFormat, in single quotes in a shell: current value is "combined"$/,
    ],
    [
      "names the columns where none has a client",
      "time,user,path\n1,-,/\n2,,/a\n",
      { key: "user" },
      /^Cannot read a log because no line names a client in user: its columns are time, user, path\. Name another one with --key NAME/,
    ],
    [
      "names the columns where no time can be read",
      "time,user\nnoon,ada\n",
      { format: "csv" },
      /none of 1 could be read\n {2}line 2: "noon,ada": no valid time in column time\nits columns are time, user; name those of the time and the client with --time NAME .* --key NAME/,
    ],
    // HAProxy's lines with a column of the site's own: filebeat/module/haproxy in elastic/beats
    [
      "is not taken for one of another form that has more columns",
      "May 22 02:22:22 server1 haproxy[5089]: -:22222 [22/May/2021:02:22:22.222] www-https~ " +
      "myapp/node2 site.domain.com 0/0/0/18/18 200 200 - - ---- 222/222/2/0/0 0/0 " +
      '"OPTIONS /api/v2/app/ HTTP/1.1"\n',
      {},
      /^Cannot read a log as its lines must have one of the formats vhost, /,
    ],
    [
      "shows its first lines",
      "one\ntwo\nthree\nfour\n",
      {},
      /^Cannot read a log as its lines must have one of the formats vhost, common, .*\n {2}"one"\n {2}"two"\n {2}"three"$/,
    ],
    [
      "says why lines do not have a form that was named",
      'h - - [22/Foo/2016:22:32:31 +0300] "-" 408 -\nnonsense\n',
      { format: "common" },
      /format common: none of 2 could be read\n {2}line 1: "h - .*: no valid time in column time\n {2}line 2: "nonsense": it is not in the format common\nthe formats are vhost, common, /,
    ],
  ];
  for (const [what, text, options, message] of cases) {
    test(what, async () => {
      await assert.rejects(readTrace(text, options), { name: "TypeError", message });
    });
  }

  test("reads each day that exists, and reports the others as unread", async () => {
    const days = [
      "2024-01-17",
      "2024-02-01",
      "2024-02-29",
      "2023-02-29",
      "2024-13-01",
      "2024-01-00",
    ];
    const lines = days.map((day) => `${day}T00:00:00Z,a\n`);
    const { at, log } = await readTrace(`time,client\n${lines.join("")}`);
    assert.deepEqual([...at], [Date.UTC(2024, 0, 17), Date.UTC(2024, 1, 1), Date.UTC(2024, 1, 29)]);
    assert.equal(log?.unread, 3);
  });

  test("leaves out the requests that name nobody, and counts them", async () => {
    const line = (user: string) =>
      `192.0.2.7 - ${user} [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 1\n`;
    const { log, clients, requests } = await readTrace(line("-") + line("ada") + line("-"), {
      key: "user",
    });
    assert.deepEqual([clients, requests, log?.unnamed, log?.unread], [["ada"], 1, 2, 0]);
    assert.deepEqual(log?.columns.slice(0, 4), ["remote_addr", "ident", "user", "time"]);
  });

  test("counts the lines that record something else than a request", async () => {
    const begins = '{"time":1795458697952,"req":{"remoteAddress":"192.0.2.7"}}\n';
    const ends = '{"time":1795458697959,"res":{"statusCode":200}}\n';
    const { log, requests } = await readTrace(begins + ends + begins + ends);
    assert.deepEqual([requests, log?.others, log?.unread, log?.keys], [2, 2, 0, [
      "req.remoteAddress",
    ]]);
    // Its beginnings alone count where they name no client, too.
    const bare = await readTrace((begins + ends).replace("remoteAddress", "url"));
    assert.deepEqual([bare.requests, bare.log?.others, bare.clients], [1, 1, ["all"]]);
  });

  const zip = Buffer.from("504b0304140000000800", "hex");
  const elf = Buffer.from("7f454c460201010000000000", "hex");
  const objects = Array.from({ length: 400 }, (_, at) => ({ at, text: "\u001b[31m\u0007" }));
  const strange: [what: string, bytes: string | Uint8Array, message: RegExp][] = [
    [
      "a JSON array",
      JSON.stringify(objects),
      /one object on each line: .*jq -c '\.\[\]'/,
    ],
    ["a JSON array of lines", JSON.stringify(objects, null, 1), /it is a JSON array/],
    ["objects over several lines", JSON.stringify(objects[0], null, 2), /jq -c \. FILE/],
    ["a program", elf, /it is binary, and begins with the bytes 7f 45 4c 46 02 01 01 00$/],
    ["a zip archive", zip, /it is a zip archive: unpack it/],
    ["random bytes", Buffer.from(objects.map((_, at) => at * 77 % 256)), /it is binary/],
    ["one long line", "x,\u001b ".repeat(8_000), /must have one of the formats|is binary/],
    [
      "a table without a time",
      "some,".repeat(8_000),
      /no column has a usual name .* and 7961 more/,
    ],
  ];
  for (const [what, bytes, message] of strange) {
    test(`reports that it is ${what}, briefly and without control characters`, async () => {
      await assert.rejects(readTrace([bytes]), (error: Error) => {
        assert.match(error.message, message);
        // deno-lint-ignore no-control-regex
        assert.doesNotMatch(error.message, /[\x00-\x09\x0b-\x1f]/);
        assert.ok(error.message.length < 600);
        return true;
      });
    });
  }

  test("says that no column distinguishes clients", async () => {
    const { log, clients } = await readTrace("time,bytes\n1,2\n3,4\n");
    assert.deepEqual([log?.keys, clients], [[], ["all"]]);
  });

  test("counts the lines that could not be read, and keeps the first three", async () => {
    const good = '192.0.2.7 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 1\n';
    const noDay = good.replace("22/Dec", "42/Dec");
    const { log, requests } = await readTrace(
      `${good}a\n\n${good}${noDay}c\nd\n${good.slice(0, 60)}`,
    );
    assert.equal(requests, 2);
    const reason = "it is not in the format common";
    assert.deepEqual([log?.lines, log?.unread, log?.firstUnread], [8, 5, [
      { line: 2, text: "a", reason },
      { line: 5, text: noDay.trim(), reason: "no valid time in column time" },
      { line: 6, text: "c", reason },
    ]]);
  });
});

describe("a log that is damaged", () => {
  const algorithm = gcra({ limit: 1, period: "1s", burst: 1 });

  /** Requires a replay to have read something, or to say that it could not. */
  async function requireReadOrError(bytes: Uint8Array, options?: ReadLogOptions): Promise<void> {
    try {
      const { requests } = await replay(await readTrace([bytes], options), [{ algorithm }]);
      assert.ok(requests > 0);
    } catch (error) {
      assert.match(String(error), /^(Type|Range)?Error: Cannot (read|replay) a log (as|because) /);
    }
  }

  const anyFixture = fc.constantFrom(...FIXTURES);
  const anyDamage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 6 });
  const zstd = (zlib as Partial<typeof zlib>).zstdCompressSync;
  const plain = (text: string) => new TextEncoder().encode(text.repeat(3));
  const forms = [[plain, 0], [zlib.gzipSync, 4], ...(zstd ? [[zstd, 4] as const] : [])] as const;
  test("by changed bytes or a missing end is an error, or is read as far as it goes", async () => {
    await fc.assert(
      fc.asyncProperty(
        ...[anyFixture, fc.constantFrom(...forms), anyDamage, fc.nat()] as const,
        async ({ text, options }, [write, magic], damage, cut) => {
          const bytes = new Uint8Array(write(text));
          // Without its first bytes, a compressed log is any other.
          const length = bytes.length - magic;
          for (const [place, byte] of damage) bytes[magic + place % length] = byte;
          await requireReadOrError(bytes.subarray(0, magic + cut % length), options);
        },
      ),
      fcOptions({ numRuns: 600 }),
    );
  });

  test("is read even if most lines are unreadable, and a note says so", async () => {
    const { log, requests } = await readTrace(`${"nonsense\n".repeat(900)}${FIXTURES[0]!.text}`);
    assert.deepEqual([requests, log?.unread], [2, 900]);
  });
});
