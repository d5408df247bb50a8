import type { ReadLogOptions } from "../../../../adapters/replay/replay.ts";

/** Lines that the programs write, and their entries. */
export interface Fixture {
  readonly what: string;
  readonly format: string;
  readonly text: string;
  readonly options?: ReadLogOptions;
  readonly entries: readonly (readonly [at: number, key: string, cost?: number])[];
}

const at = Date.UTC;

/** A log of each form and of each program that writes one. */
export const FIXTURES: readonly Fixture[] = [
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
    what: "nginx through syslog, as journalctl prints it, with a line of its own",
    format: "common",
    text: `Dec 22 19:32:30 web1 systemd[1]: Started nginx.
Dec 22 19:32:31 web1 nginx[812]: 192.0.2.7 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 3
<190>Dec  2 19:32:31 web1 nginx: 192.0.2.8 - - [22/Dec/2016:22:32:32 +0300] "GET / HTTP/1.1" 200 3
2016-12-22T19:32:33+00:00 web1 nginx: 192.0.2.9 - - [22/Dec/2016:22:32:33 +0300] "GET /" 200 3
`,
    entries: [7, 8, 9].map((host) => [1_482_435_144_000 + host * 1_000, `192.0.2.${host}`]),
  },
  {
    what: "a client without forwarded addresses, amid those behind a proxy",
    format: "pattern",
    options: { pattern: '%{X-Forwarded-For}i %h %l %u %t "%r" %>s %b' },
    text: '- 192.0.2.9 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 3\n' +
      '203.0.113.7 10.0.0.1 - - [22/Dec/2016:22:32:32 +0300] "GET / HTTP/1.1" 200 3\n',
    entries: [[1_482_435_151_000, "192.0.2.9"], [1_482_435_152_000, "203.0.113.7"]],
  },
  {
    what: "the common form, with a line of a virtual host amid it",
    format: "common",
    text: `192.0.2.7 - - [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 3279
www.example.com 192.0.2.8 - - [22/Dec/2016:22:32:32 +0300] "GET / HTTP/1.1" 200 3279
192.0.2.9 - ada lovelace [22/Dec/2016:22:32:33 +0300] "GET / HTTP/1.1" 200 3279
`,
    entries: [[1_482_435_151_000, "192.0.2.7"], [1_482_435_153_000, "192.0.2.9"]],
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
    format: "common",
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
    what: "Caddy behind a proxy, whose header fields are lists",
    format: "json",
    text: '{"ts":1646861401.5,"request":{"remote_ip":"10.0.0.1","method":"GET","headers":' +
      '{"X-Forwarded-For":["203.0.113.7"]}},"status":200}\n',
    entries: [[1_646_861_401_500, "203.0.113.7"]],
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
    what: "addresses that Envoy forwarded, of which the last is a private proxy",
    format: "envoy",
    text: '[2016-04-15T20:17:00.310Z] "GET / HTTP/2" 200 - 154 0 226 100 "6.6.6.6, 10.0.35.28" ' +
      '"nsq2http" "cc21d9b0" "locations" "tcp://10.0.2.1:80"\n',
    entries: [[at(2016, 3, 15, 20, 17, 0, 310), "6.6.6.6"]],
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
  // Lines of https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html
  {
    what: "AWS S3, from its documentation",
    format: "s3",
    text: "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be awsexamplebucket1 " +
      "[06/Feb/2019:00:00:38 +0000] 192.0.2.3 " +
      "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be 3E57427F3EXAMPLE " +
      'REST.GET.VERSIONING - "GET /awsexamplebucket1?versioning HTTP/1.1" 200 - 113 - 7 - "-" ' +
      '"S3Console/0.4" - s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= ' +
      "SigV2 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader awsexamplebucket1.s3.us-west-1.amazonaws.com " +
      "TLSV1.1\n",
    entries: [[at(2019, 1, 6, 0, 0, 38), "192.0.2.3"]],
  },
  // The first two of https://docs.haproxy.org/2.8/configuration.html#8.2.3 and haproxy/logs.md in
  // github.com/adrianlzt/cerebro, the third of github.com/logstash-plugins/logstash-patterns-core
  {
    what: "HAProxy, with captured headers, a request that ended early, and syslog",
    format: "haproxy",
    text: "haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 " +
      '10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"\n' +
      "<30>Jun 27 21:43:42 haproxy[22021]: 8.6.7.10:55480 [27/Jun/2019:21:42:38.916] public_ssl~ " +
      "be_http/srva 0/0/0/-1/63387    504 194 - - sH-- 15/13/10/0/0 0/0 " +
      '"PATCH /api/upload/4ddad61736a6 HTTP/1.1"\n' +
      "Dec  9 13:01:26 localhost haproxy[28029]: 127.0.0.1:39759 [09/Dec/2013:12:59:46.633] " +
      "loadbalancer default/instance8 0/51536/1/48082/99627 200 83285 - - ---- 87/87/87/1/0 0/67 " +
      '{77.24.148.74} "GET /path/to/image HTTP/1.1"\n',
    entries: [
      [at(2009, 1, 6, 12, 14, 14, 655), "10.0.1.2"],
      [at(2019, 5, 27, 21, 42, 38, 916), "8.6.7.10"],
      [at(2013, 11, 9, 12, 59, 46, 633), "127.0.0.1"],
    ],
  },
  // test/code/plugins/squid_log_parser_plugintest.rb in github.com/microsoft/OMS-Agent-for-Linux,
  // and github.com/logstash-plugins/logstash-patterns-core
  {
    what: "Squid",
    format: "squid",
    text: "1486686388.768      0 10.1.1.4 TCP_MISS/200 2965 GET cache_object://localhost/5min - " +
      "HIER_NONE/- text/plain\n" +
      "1525344856.899  16867 10.170.72.111 TCP_TUNNEL/200 6256 CONNECT " +
      "logs.ap-southeast-2.amazonaws.com:443 - HIER_DIRECT/53.140.206.134 -\n",
    entries: [
      [1_486_686_388_768, "10.1.1.4"],
      [1_525_344_856_899, "10.170.72.111"],
    ],
  },
  // The lines of nginx are of _posts/2020-01-11-id-docker-log-container.md in
  // github.com/ametdoohan/ametdoohan.github.io, as https://docs.docker.com/engine/logging/drivers/json-file/
  // writes lines
  {
    what: "nginx in Docker, with an error between",
    format: "common",
    text: String
      .raw`{"log":"172.17.0.1 - - [11/Jan/2020:04:51:33 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"curl/7.29.0\" \"-\"\n","stream":"stdout","time":"2020-01-11T04:51:33.111111111Z"}
{"log":"2020/01/11 05:14:07 [error] 6#6: *2 open() \"/usr/share/nginx/html/favicon.ico\" failed\n","stream":"stderr","time":"2020-01-11T05:14:07.2Z"}
{"log":"192.168.1.2 - - [11/Jan/2020:05:14:07 +0000] \"GET /favicon.ico HTTP/1.1\" 404 555 ","stream":"stdout","time":"2020-01-11T05:14:07.3Z"}
{"log":"\"http://192.168.1.6:8080/\" \"Mozilla/5.0\" \"-\"\n","stream":"stdout","time":"2020-01-11T05:14:07.3Z"}
`,
    entries: [
      [at(2020, 0, 11, 4, 51, 33), "172.17.0.1"],
      [at(2020, 0, 11, 5, 14, 7), "192.168.1.2"],
    ],
  },
  {
    what: "forwarded addresses in the first column, as many as there are",
    format: "common",
    text: '203.0.113.7, 10.0.0.1 - - [28/Nov/2026:02:00:01 +0000] "GET / HTTP/1.1" 200 12\n' +
      '6.6.6.6, 203.0.113.8, 10.0.0.1, 10.0.0.2 - - [28/Nov/2026:02:00:02 +0000] "GET / HTTP/1.1" 200 1\n' +
      '2001:db8::7 - - [28/Nov/2026:02:00:03 +0000] "GET / HTTP/1.1" 200 12\n',
    entries: [
      [at(2026, 10, 28, 2, 0, 1), "203.0.113.7"],
      [at(2026, 10, 28, 2, 0, 2), "203.0.113.8"],
      [at(2026, 10, 28, 2, 0, 3), "2001:db8::/64"],
    ],
  },
  {
    what: "forwarded addresses before the proxy's, and a named proxy",
    format: "vhost",
    options: { proxies: ["198.51.100.0/24"] },
    text:
      '203.0.113.7, 198.51.100.4 10.0.0.9 - - [28/Nov/2026:02:00:01 +0000] "GET / HTTP/1.1" 200 1\n' +
      '203.0.113.9 10.0.0.9 - - [28/Nov/2026:02:00:01 +0000] "GET / HTTP/1.1" 200 1\n' +
      '6.6.6.6 192.0.2.1 - - [28/Nov/2026:02:00:02 +0000] "GET / HTTP/1.1" 200 1\n',
    entries: [
      [at(2026, 10, 28, 2, 0, 1), "203.0.113.7"],
      [at(2026, 10, 28, 2, 0, 1), "203.0.113.9"],
      [at(2026, 10, 28, 2, 0, 2), "192.0.2.1"],
    ],
  },
  {
    what: "nginx's main form, which ends with the forwarded addresses",
    format: "common",
    text:
      '10.0.0.9 - - [28/Nov/2026:02:00:01 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8" "203.0.113.7"\n' +
      '10.0.0.9 - - [28/Nov/2026:02:00:02 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8" "-"\n' +
      '192.0.2.1 - - [28/Nov/2026:02:00:03 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8" "6.6.6.6"\n',
    entries: [
      [at(2026, 10, 28, 2, 0, 1), "203.0.113.7"],
      [at(2026, 10, 28, 2, 0, 2), "10.0.0.9"],
      [at(2026, 10, 28, 2, 0, 3), "192.0.2.1"],
    ],
  },
  {
    what: "JSON with a proxy and the addresses that it forwarded",
    format: "json",
    text: '{"time":1,"remote_addr":"10.0.0.9","http_x_forwarded_for":"6.6.6.6, 203.0.113.7"}\n' +
      '{"time":2,"remote_addr":"192.0.2.1","http_x_forwarded_for":"6.6.6.6"}\n',
    entries: [[1_000, "203.0.113.7"], [2_000, "192.0.2.1"]],
  },
  {
    what: "user names with spaces, and times with fractions",
    format: "common",
    text: '192.0.2.7 - Ada Lovelace [22/Dec/2016:22:32:31.250 +0300] "GET / HTTP/1.1" 200 3279\n' +
      '192.0.2.8 - - [22/Dec/2016:22:32:31.999999 +0300] "GET / HTTP/1.1" 200 3279\n',
    entries: [
      [at(2016, 11, 22, 19, 32, 31, 250), "192.0.2.7"],
      [at(2016, 11, 22, 19, 32, 31, 999), "192.0.2.8"],
    ],
  },
  {
    what: "a CSV with line breaks in its fields",
    format: "csv",
    text: 'time,agent,client\r\n1000,"a\r\nb, ""c""\n",ada\r\n1001,5" disk,bob\r\n1002,"d",ada\r\n',
    entries: [[1_000_000, "ada"], [1_001_000, "bob"], [1_002_000, "ada"]],
  },
  // https://nginx.org/en/docs/http/ngx_http_log_module.html
  {
    what: "nginx's own example of a log_format, pasted",
    format: "pattern",
    options: {
      pattern: `log_format compression '$remote_addr - $remote_user [$time_local] '
                       '"$request" $status $bytes_sent '
                       '"$http_referer" "$http_user_agent" "$gzip_ratio"';`,
    },
    text:
      '192.0.2.7 - ada b [22/Dec/2016:22:32:31 +0300] "GET / HTTP/1.1" 200 3 "-" "curl" "2.5"\n',
    entries: [[at(2016, 11, 22, 19, 32, 31), "192.0.2.7"]],
  },
  // Lines that nginx 1.22 wrote with these definitions
  {
    what: "nginx's objects with quotes inside, by their log_format",
    format: "pattern",
    options: {
      pattern:
        `log_format j escape=json '{"t":"$msec","a":"$remote_addr","x":"$http_x_forwarded_for",'
        '"r":"$request","s":$status}';`,
    },
    text:
      '{"t":"1795851126.057","a":"127.0.0.1","x":"6.6.6.6, 203.0.113.1","r":"GET /a%22b HTTP/1.1",' +
      '"s":200}\n',
    entries: [[1_795_851_126_057, "203.0.113.1"]],
  },
  {
    what: "nginx's long form by its log_format, with a user's name of two words",
    format: "pattern",
    options: {
      pattern: `log_format up '$remote_addr - $remote_user [$time_local] "$request" '
        '$status $body_bytes_sent "$http_referer" "$http_user_agent" '
        '$request_length $request_time [$host] $upstream_addr "$http_x_forwarded_for"';`,
    },
    text: '127.0.0.1 - ada b [28/Nov/2026:07:32:06 +0000] "GET /a%22b HTTP/1.1" 200 0 "-" ' +
      '"x \\x22y\\x22 z" 154 0.000 [127.0.0.1] - "6.6.6.6, 203.0.113.1"\n',
    entries: [[at(2026, 10, 28, 7, 32, 6), "203.0.113.1"]],
  },
  // https://gist.github.com/zx1986/8dd3bbe998e5fd71fcdc10dccec61732
  {
    what: "a log_format with names before its values, pasted",
    format: "pattern",
    options: {
      pattern: `log_format main '"$time_local" client=$remote_addr '
        'host=$host '
        'method=$request_method request="$request" '
        'request_length=$request_length '
        'status=$status';`,
    },
    text: '"22/Dec/2016:22:32:31 +0300" client=192.0.2.7 host=a.example method=GET ' +
      'request="GET / HTTP/1.1" request_length=71 status=200\n',
    entries: [[at(2016, 11, 22, 19, 32, 31), "192.0.2.7"]],
  },
  // https://httpd.apache.org/docs/2.4/mod/mod_log_config.html
  {
    what: "Apache's LogFormat, pasted, with a line that goes on and a time of several parts",
    format: "pattern",
    options: {
      pattern: String
        .raw`LogFormat "%v:%p %h \
          %l %u [%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t] \"%r\" %>s %O \"%{User-Agent}i\"" vhost`,
    },
    text:
      'a.example:443 192.0.2.7 - ada b [22/Dec/2016 22:32:31.250 +0300] "GET /a\\"b HTTP/1.1" ' +
      '200 3 "curl"\n',
    entries: [[at(2016, 11, 22, 19, 32, 31, 250), "192.0.2.7"]],
  },
  {
    what: "Apache's form with forwarded addresses, and a time without brackets",
    format: "pattern",
    options: { pattern: String.raw`%{%Y-%m-%d %H:%M:%S}t %{X-Forwarded-For}i %a %U%q %s` },
    text: "2016-12-22 22:32:31 203.0.113.7, 10.0.0.1 10.0.0.2 /a?b 200\n" +
      "2016-12-22 22:32:32 - 192.0.2.9 /a 200\n",
    entries: [
      [at(2016, 11, 22, 22, 32, 31), "203.0.113.7"],
      [at(2016, 11, 22, 22, 32, 32), "192.0.2.9"],
    ],
  },
  // filebeat/module/nginx/access/test in github.com/elastic/beats
  {
    what: "forwarded addresses in quotes before the proxy's",
    format: "vhost",
    text: '"10.5.102.222, 199.96.1.1, 204.246.1.1" 10.2.1.185 - - [22/Jan/2016:13:18:29 +0000] ' +
      '"GET /assets/xxxx?q=100 HTTP/1.1" 200 25507 "-" "Amazon CloudFront"\n',
    entries: [[at(2016, 0, 22, 13, 18, 29), "204.246.1.1"]],
  },
  {
    what: "forwarded addresses in quotes between the host and the proxy's",
    format: "vhost",
    text: 'example.com:80 "10.5.102.222, 175.16.199.1, 204.246.1.1" 10.2.1.185 - - ' +
      '[22/Jan/2016:13:18:29 +0000] "GET /assets/xxxx?q=100 HTTP/1.1" 200 25507 "-" "-"\n' +
      "example.com 10.0.0.2, 10.0.0.1, 81.2.69.143 - - [22/Jan/2016:13:18:30 +0000] " +
      '"GET /ocelot HTTP/1.1" 200 571 "-" "Mozilla/5.0"\n',
    entries: [
      [at(2016, 0, 22, 13, 18, 29), "204.246.1.1"],
      [at(2016, 0, 22, 13, 18, 30), "81.2.69.143"],
    ],
  },
  // github.com/QQ1134614268/LinuxServer, nginx/nginx.logformat.json.conf
  {
    what: "nginx's objects whose status is text, by their log_format",
    format: "pattern",
    options: {
      pattern: `log_format json escape=json '{"@timestamp":"$time_iso8601",'
            '"remote_addr":"$remote_addr","body_bytes_sent":$body_bytes_sent,'
            '"request":"$request","status":"$status","http_user_agent":"$http_user_agent"}';`,
    },
    text: '{"@timestamp":"2024-06-01T12:00:01+00:00","remote_addr":"192.0.2.7",' +
      '"body_bytes_sent":12,"request":"GET /x HTTP/1.1","status":"200","http_user_agent":"a"}\n',
    entries: [[at(2024, 5, 1, 12, 0, 1), "192.0.2.7"]],
  },
  // A log_format of an nginx.conf on GitHub, in which the request has no quotes
  {
    what: "a log_format with three spaces between two variables",
    format: "pattern",
    options: {
      pattern:
        "log_format up '[$time_local] $http_x_forwarded_for $request_id $remote_addr - $remote_user" +
        " - $server_name $host to: $upstream_addr: $request $status   upstream_response_time " +
        "$upstream_response_time msec $msec request_time $request_time';",
    },
    text:
      "[28/Nov/2026:02:00:01 +0000] 198.51.100.4, 10.0.0.9 5f1c 10.0.0.1 - - - _ a.example to: " +
      "10.0.0.5:8080: GET /a HTTP/1.1 200   upstream_response_time 0.003 msec 1795831201.123 " +
      "request_time 0.004\n",
    entries: [[1_795_831_201_123, "198.51.100.4"]],
  },
];
