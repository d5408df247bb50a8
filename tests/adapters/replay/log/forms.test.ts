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

/** Lines as the programs write them, and what they say. */
interface Fixture {
  readonly what: string;
  readonly format: string;
  readonly text: string;
  readonly options?: ReadLogOptions;
  readonly entries: readonly (readonly [at: number, key: string, cost?: number])[];
}

const at = Date.UTC;

const FIXTURES: readonly Fixture[] = [
  {
    what: "Apache's common form",
    format: "common",
    text:
      '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326\n' +
      '2001:db8::1 - - [10/Oct/2000:13:55:37 -0700] "-" 408 -\n',
    entries: [
      [at(2000, 9, 10, 20, 55, 36), "127.0.0.1"],
      [at(2000, 9, 10, 20, 55, 37), "2001:db8::/64"],
    ],
  },
  {
    what: "nginx's combined form, with what an attacker sends",
    format: "common",
    text: String
      .raw`192.0.2.7 - - [29/Feb/2024:23:59:59 +0530] "GET /a\"b\x22 HTTP/1.1" 404 153 "-" "Mozilla/5.0 (\"x\")"` +
      "\n" +
      String.raw`192.0.2.8 - - [29/Feb/2024:23:59:59 +0530] "\x16\x03\x01" 400 157 "-" "-"` + "\n",
    entries: [
      [at(2024, 1, 29, 18, 29, 59), "192.0.2.7"],
      [at(2024, 1, 29, 18, 29, 59), "192.0.2.8"],
    ],
  },
  {
    what: "Traefik's common form",
    format: "common",
    text: '10.42.0.1 - - [05/May/2025:09:01:02 +0000] "GET /who HTTP/1.1" 200 374 "-" "-" 12 ' +
      '"whoami@docker" "http://172.18.0.3:80" 2ms\n',
    entries: [[at(2025, 4, 5, 9, 1, 2), "10.42.0.1"]],
  },
  {
    what: "a tool that puts quotes around lines",
    format: "common",
    text: '"192.0.2.7 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 3279 "-" "w3af.org""\n',
    entries: [[at(2016, 11, 22, 19, 32, 31), "192.0.2.7"]],
  },
  {
    what: "Apache's vhost_combined",
    format: "vhost",
    text:
      'shop.example:443 192.0.2.7 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 3 "-" ' +
      '"curl/8"\n',
    entries: [[at(2016, 11, 22, 19, 32, 31), "192.0.2.7"]],
  },
  {
    what: "EPA's form, with quotes in URLs",
    format: "epa",
    text: '141.243.1.172 [29:23:53:25] "GET /Software.html HTTP/1.0" 200 1497\n' +
      'query2.lycos.cs.cmu.edu [29:23:53:36] "GET /Consumer.html HTTP/1.0" 200 1325\n' +
      'tanuki.twics.com [30:00:10:12] "GET /docs/"quoted" HTTP/1.0" 404 -\n' +
      'wpbfl2-45.gate.net [30:00:11:36] "GET /logos/small_gopher.gif" HTTP/1.0" 200 935\n',
    entries: [
      [at(1995, 7, 30, 3, 53, 25), "141.243.1.172"],
      [at(1995, 7, 30, 3, 53, 36), "query2.lycos.cs.cmu.edu"],
      [at(1995, 7, 30, 4, 10, 12), "tanuki.twics.com"],
      [at(1995, 7, 30, 4, 11, 36), "wpbfl2-45.gate.net"],
    ],
  },
  {
    what: "Envoy's default text",
    format: "envoy",
    text: '[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 ' +
      '"10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" ' +
      '"tcp://10.0.2.1:80"\n' +
      '[2016-04-15T20:17:01.310Z] "GET / HTTP/1.1" 0 DC 0 0 1 - "10.0.35.29" "-" "-" "x" "-"\n',
    entries: [
      [at(2016, 3, 15, 20, 17, 0, 310), "10.0.35.28"],
      [at(2016, 3, 15, 20, 17, 1, 310), "10.0.35.29"],
    ],
  },
  {
    what: "AWS's application load balancer",
    format: "alb",
    text: "https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 " +
      "192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 " +
      '"GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 ' +
      "TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/t/73e2d6bc24d8a067 " +
      '"Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:x" 1 ' +
      '2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-"\n' +
      "http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 " +
      "[2001:db8::7]:2818 - -1 -1 -1 503 - 34 366 " +
      '"GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - - "Root=1-5" "-" "-" 0 ' +
      '2018-07-02T22:22:48.364000Z "forward" "-" "-" "-" "-" "-" "-"\n',
    entries: [
      [at(2018, 6, 2, 22, 23, 0, 186), "192.168.131.39"],
      [at(2018, 6, 2, 22, 23, 0, 186), "2001:db8::/64"],
    ],
  },
  {
    what: "IIS, started twice with other fields",
    format: "w3c",
    text: "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n" +
      "#Date: 2024-03-01 08:00:00\r\n" +
      "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip " +
      "cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken\r\n" +
      "2024-03-01 08:00:01 10.0.0.4 GET / - 443 - 192.0.2.7 Mozilla/5.0+(X11) - 200 0 0 15\r\n" +
      '2024-03-01 08:00:02 10.0.0.4 GET /a q="x 443 - 192.0.2.8 curl/8 - 404 0 2 3\r\n' +
      "#Software: Microsoft Internet Information Services 10.0\r\n" +
      "#Fields: date time c-ip cs-method\r\n2024-03-02 00:00:00 192.0.2.9 GET\r\n",
    entries: [
      [at(2024, 2, 1, 8, 0, 1), "192.0.2.7"],
      [at(2024, 2, 1, 8, 0, 2), "192.0.2.8"],
      [at(2024, 2, 2), "192.0.2.9"],
    ],
  },
  {
    what: "AWS CloudFront",
    format: "cloudfront",
    text: "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) " +
      "cs-uri-stem sc-status cs(Referer) cs(User-Agent)\n" +
      "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.24\tGET\td111111abcdef8.cloudfront.net\t" +
      "/index.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0)\n",
    entries: [[at(2019, 11, 4, 21, 2, 31), "192.0.2.24"]],
  },
  {
    what: "nginx's JSON, in which host is the server",
    format: "json",
    text: '{"time_iso8601":"2023-11-16T19:15:46+01:00","host":"shop.example",' +
      '"remote_addr":"192.0.2.7","request":"GET / HTTP/1.1","status":"200"}\n' +
      '{"msec":"1700158547.250","host":"shop.example","remote_addr":"192.0.2.8"}\n',
    entries: [
      [at(2023, 10, 16, 18, 15, 46), "192.0.2.7"],
      [at(2023, 10, 16, 18, 15, 47, 250), "192.0.2.8"],
    ],
  },
  {
    what: "Caddy, nested",
    format: "json",
    text: '{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled ' +
      'request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"192.0.2.7",' +
      '"proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/","headers":{"User-Agent":' +
      '["curl/7.82.0"]}},"bytes_read":0,"user_id":"","duration":0.000929675,"status":200}\n',
    entries: [[1_646_861_401_524, "192.0.2.7"]],
  },
  {
    what: "Caddy, by a path of the caller's",
    format: "json",
    options: { key: "request.headers.X-User.0", columns: { time: "ts" }, cost: "tokens.in" },
    text: '{"ts":1646861401,"request":{"headers":{"X-User":["ada"]}},"tokens":{"in":7}}\n',
    entries: [[1_646_861_401_000, "ada", 7]],
  },
  {
    what: "Traefik's JSON",
    format: "json",
    text: '{"ClientAddr":"192.168.33.1:64682","ClientHost":"192.168.33.1","ClientPort":"64682",' +
      '"DownstreamStatus":200,"RequestHost":"whoami.localhost","RequestPath":"/",' +
      '"StartLocal":"2023-06-15T08:27:11.1234+02:00","StartUTC":"2023-06-15T06:27:11.123456789Z",' +
      '"level":"info","msg":"","time":"2023-06-15T06:27:12Z"}\n',
    entries: [[at(2023, 5, 15, 6, 27, 12), "192.168.33.1"]],
  },
  {
    what: "Envoy's JSON, in which addresses have ports",
    format: "json",
    text: '{"start_time":"2024-05-05T10:11:12.345Z","method":"GET","response_code":200,' +
      '"downstream_remote_address":"192.0.2.7:50312"}\n' +
      '{"start_time":"2024-05-05T10:11:13.345Z","method":"GET","response_code":200,' +
      '"downstream_remote_address":"[2001:db8::1]:50313"}\n',
    entries: [
      [at(2024, 4, 5, 10, 11, 12, 345), "192.0.2.7"],
      [at(2024, 4, 5, 10, 11, 13, 345), "2001:db8::/64"],
    ],
  },
  {
    what: "addresses with ports in JSON, one client each",
    format: "json",
    text: '{"time":"2026-11-20T10:00:00Z","remote_addr":"192.0.2.1:5011"}\n' +
      '{"time":"2026-11-20T10:00:01Z","remote_addr":"192.0.2.1:5012"}\n' +
      '{"time":"2026-11-20T10:00:02Z","remote_addr":"[2001:db8::1]:5013"}\n' +
      '{"time":"2026-11-20T10:00:03Z","remote_addr":"::ffff:192.0.2.1"}\n',
    entries: [
      [at(2026, 10, 20, 10, 0, 0), "192.0.2.1"],
      [at(2026, 10, 20, 10, 0, 1), "192.0.2.1"],
      [at(2026, 10, 20, 10, 0, 2), "2001:db8::/64"],
      [at(2026, 10, 20, 10, 0, 3), "192.0.2.1"],
    ],
  },
  {
    what: "Fastify's log: its beginnings, and neither its ends nor what else is logged",
    format: "json",
    text:
      '{"level":30,"time":1795458697908,"pid":20070,"hostname":"vm","msg":"Server listening at ' +
      'http://127.0.0.1:43689"}\n' +
      '{"level":30,"time":1795458697952,"pid":20070,"hostname":"vm","reqId":"req-1","req":{"method":' +
      '"GET","url":"/hello","host":"127.0.0.1:43689","remoteAddress":"127.0.0.1","remotePort":' +
      '42118},"msg":"incoming request"}\n' +
      '{"level":30,"time":1795458697953,"pid":20070,"hostname":"vm","reqId":"req-1","msg":' +
      '"something else"}\n' +
      '{"level":30,"time":1795458697959,"pid":20070,"hostname":"vm","reqId":"req-1","res":{' +
      '"statusCode":200},"responseTime":6.880861999999979,"msg":"request completed"}\n',
    entries: [[1_795_458_697_952, "127.0.0.1"]],
  },
  {
    what: "pino-http's log: its ends, and not what is logged meanwhile",
    format: "json",
    text:
      '{"level":30,"time":1795458697908,"req":{"id":1,"method":"GET","url":"/","headers":{"host":' +
      '"localhost:3000"},"remoteAddress":"::1","remotePort":64386},"msg":"something else"}\n' +
      '{"level":30,"time":1795458697918,"req":{"id":1,"method":"GET","url":"/","headers":{"host":' +
      '"localhost:3000"},"remoteAddress":"::1","remotePort":64386},"res":{"statusCode":200,' +
      '"headers":{}},"responseTime":10,"msg":"request completed"}\n',
    entries: [[1_795_458_697_918, "::/64"]],
  },
  {
    what: "Cloudflare's Logpush, of nanoseconds and of text",
    format: "json",
    text:
      '{"ClientIP":"192.0.2.1","ClientRequestHost":"shop.example","ClientRequestMethod":"GET",' +
      '"ClientRequestURI":"/","EdgeEndTimestamp":1526810289290000000,"EdgeResponseStatus":200,' +
      '"EdgeStartTimestamp":1526810289280000000,"RayID":"41ddf1740f67442d"}\n' +
      '{"ClientIP":"2001:db8::1","EdgeStartTimestamp":"2018-05-20T09:58:10Z","RayID":"4"}\n',
    entries: [[1_526_810_289_280, "192.0.2.1"], [at(2018, 4, 20, 9, 58, 10), "2001:db8::/64"]],
  },
  {
    what: "Google Cloud's load balancer",
    format: "json",
    text: '{"httpRequest":{"latency":"0.058927s","remoteIp":"198.51.100.1","requestMethod":"GET",' +
      '"requestSize":"257","requestUrl":"https://192.0.2.35/console/","status":302,"userAgent":' +
      '"Mozilla/5.0"},"insertId":"1vzs264g1u90hp5","jsonPayload":{"statusDetails":"ok",' +
      '"remoteIp":"198.51.100.1"},"logName":"projects/x/logs/requests","receiveTimestamp":' +
      '"2022-05-26T05:29:07.0Z","resource":{"type":"http_load_balancer"},"severity":"INFO",' +
      '"timestamp":"2022-05-26T05:29:06.136246Z"}\n',
    entries: [[at(2022, 4, 26, 5, 29, 6, 136), "198.51.100.1"]],
  },
  {
    what: "an envelope around a request",
    format: "json",
    text: '{"timestamp":"2022-05-26T05:29:06.136Z","jsonPayload":{"req":{"remoteAddress":' +
      '"192.0.2.9","host":"shop.example"}}}\n',
    entries: [[at(2022, 4, 26, 5, 29, 6, 136), "192.0.2.9"]],
  },
  {
    what: "fluentd's reading of Apache, in which host is the client",
    format: "json",
    text: '{"time":"2024-05-05T10:11:12Z","host":"192.168.0.1","user":null,"method":"GET",' +
      '"path":"/","code":200}\n',
    entries: [[at(2024, 4, 5, 10, 11, 12), "192.168.0.1"]],
  },
  {
    what: "a log in which host is the server, and no column the client",
    format: "json",
    text: '{"time":"2024-05-05T10:11:12Z","host":"shop.example","path":"/"}\n' +
      '{"time":"2024-05-05T10:11:13Z","host":"192.0.2.80:8080","path":"/"}\n',
    entries: [[at(2024, 4, 5, 10, 11, 12), "all"], [at(2024, 4, 5, 10, 11, 13), "all"]],
  },
  {
    what: "an export of SQL: times without a fraction and a zone, and columns in any order",
    format: "csv",
    text: "created_at,ip_address,path\n2026-11-20 10:00:10,192.0.2.1,/\n" +
      "2026-11-20 10:00:11,192.0.2.2,/a\n",
    entries: [[at(2026, 10, 20, 10, 0, 10), "192.0.2.1"], [
      at(2026, 10, 20, 10, 0, 11),
      "192.0.2.2",
    ]],
  },
  {
    what: "addresses that Envoy forwarded, of which the last is its own word",
    format: "envoy",
    text: '[2016-04-15T20:17:00.310Z] "GET / HTTP/2" 200 - 154 0 226 100 "6.6.6.6, 10.0.35.28" ' +
      '"nsq2http" "cc21d9b0" "locations" "tcp://10.0.2.1:80"\n',
    entries: [[at(2016, 3, 15, 20, 17, 0, 310), "10.0.35.28"]],
  },
  {
    what: "NASA's TSV, of seconds",
    format: "tsv",
    text: "host\tlogname\ttime\tmethod\turl\tresponse\tbytes\n" +
      "in24.inetnebr.com\t-\t807249601\tGET\t/x.txt\t200\t1839\t\t\n",
    entries: [[807_249_601_000, "in24.inetnebr.com"]],
  },
  {
    what: "Azure's CSV, of costs, with line ends of Windows and a byte order mark",
    format: "csv",
    options: { cost: ["ContextTokens", "GeneratedTokens"] },
    text: "\ufeffTIMESTAMP,ContextTokens,GeneratedTokens\r\n" +
      "2023-11-16 18:15:46.6805900,374,44\r\n",
    entries: [[at(2023, 10, 16, 18, 15, 46, 680), "all", 418]],
  },
  {
    what: "a CSV with quotes",
    format: "csv",
    options: { columns: { time: "When", host: "who, then" } },
    text: '"when","who, then"\n"2023-11-16T18:15:46Z","a ""b"", c"\n1700158546,""\n',
    entries: [[at(2023, 10, 16, 18, 15, 46), 'a "b", c']],
  },
];

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

describe("a log of which too little is known", () => {
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
      /^Cannot read a log as no column has a usual name for the time, such as time or timestamp: its columns are host, logname, when\. Name the one that holds the time with --time NAME \(in code columns\.time\)$/,
    ],
    [
      "names the columns where the one for the time is none of them",
      `host\tlogname\twhen\n${LINES}`,
      { columns: { time: "then" }, format: "tsv" },
      /as time must name one of its columns: current value is "then"; its columns are host, logname, when$/,
    ],
    [
      "names the columns where none has a client",
      "time,user,path\n1,-,/\n2,,/a\n",
      { key: "user" },
      /^Cannot read a log as no line names a client in user: its columns are time, user, path\. Name another one with --key NAME/,
    ],
    [
      "names the columns where no time can be read",
      "time,user\nnoon,ada\n",
      { format: "csv" },
      /none of 1 could be read\n {2}line 2: "noon,ada": no time can be read in time\nits columns are time, user; name those of the time and the client with --time NAME .* --key NAME/,
    ],
    [
      "shows its first lines",
      "one\ntwo\nthree\nfour\n",
      {},
      /^Cannot read a log as its lines must have one of the forms common, vhost, .*\n {2}"one"\n {2}"two"\n {2}"three"$/,
    ],
    [
      "says why lines do not have a form that was named",
      'h - - [22/Foo/2016:22:32:31 +0300] "-" 408 -\nnonsense\n',
      { format: "common" },
      /form common: none of 2 could be read\n {2}line 1: "h - .*: no time can be read in time\n {2}line 2: "nonsense": it has not the form common\nthe forms are common, /,
    ],
  ];
  for (const [what, text, options, message] of cases) {
    test(what, async () => {
      await assert.rejects(readTrace(text, options), { name: "TypeError", message });
    });
  }

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
      /one object a line|an object a line: .*jq -c '\.\[\]'/,
    ],
    ["a JSON array of lines", JSON.stringify(objects, null, 1), /it is a JSON array/],
    ["objects over several lines", JSON.stringify(objects[0], null, 2), /jq -c \. FILE/],
    ["a program", elf, /it is binary, and begins with the bytes 7f 45 4c 46 02 01 01 00$/],
    ["a zip archive", zip, /it is a zip archive: unpack it/],
    ["random bytes", Buffer.from(objects.map((_, at) => at * 77 % 256)), /it is binary/],
    ["one long line", "x,\u001b ".repeat(8_000), /must have one of the forms|is binary/],
    [
      "a table without a time",
      "some,".repeat(8_000),
      /no column has a usual name .* and 7961 more/,
    ],
  ];
  for (const [what, bytes, message] of strange) {
    test(`says that it is ${what}, shortly and without what controls a terminal`, async () => {
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
    const reason = "it has not the form common";
    assert.deepEqual([log?.lines, log?.unread, log?.firstUnread], [8, 5, [
      { line: 2, text: "a", reason },
      { line: 5, text: noDay.trim(), reason: "no time can be read in time" },
      { line: 6, text: "c", reason },
    ]]);
  });
});

describe("a log that is damaged", () => {
  const algorithm = gcra({ limit: 1, period: "1s" });

  /** Requires a replay to have read something, or to say that it could not. */
  async function requireReadOrError(bytes: Uint8Array, options?: ReadLogOptions): Promise<void> {
    try {
      const { requests } = await replay(await readTrace([bytes], options), [{ algorithm }]);
      assert.ok(requests > 0);
    } catch (error) {
      assert.match(String(error), /^(Type|Range)?Error: Cannot (read|replay) a log as /);
    }
  }

  const anyFixture = fc.constantFrom(...FIXTURES);
  const anyDamage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 6 });
  const zstd = (zlib as Partial<typeof zlib>).zstdCompressSync;
  const plain = (text: string) => new TextEncoder().encode(text.repeat(3));
  const forms = [[plain, 0], [zlib.gzipSync, 4], ...(zstd ? [[zstd, 4] as const] : [])] as const;
  test("by bytes that are others, or at its end, is an error, or read as far as it goes", async () => {
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

  test("of which most lines are none is read, and says so", async () => {
    const { log, requests } = await readTrace(`${"nonsense\n".repeat(900)}${FIXTURES[0]!.text}`);
    assert.deepEqual([requests, log?.unread], [2, 900]);
  });
});
