import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { fcOptions } from "../../../support/seed.ts";
import { statusOf } from "../../../support/raw_request.ts";
import { oneRule, withService } from "../support/running.ts";

/** A service with a token, whose only client has used up its limit. */
function withFront(work: (port: number) => Promise<void>, threads: number): Promise<void> {
  // Files of secrets end with a line break.
  const rules = oneRule("address", 1, [{ descriptors: [{ address: "{address}" }] }]);
  const options = { rules, token: "secret\n", maxBody: 1_000, threads };
  return withService(async ({ port }) => {
    const first = "GET /check HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n\r\n";
    assert.equal(await statusOf(port, first), 200);
    await work(port);
  }, options);
}

const TOKEN = "Authorization: Bearer secret";

/** Requests that are answered by their head: the body that they announce never comes. */
const HEADS: readonly (readonly [status: number, first: string, ...lines: string[]])[] = [
  [401, "POST /v1/consume", "Host: a", "Content-Length: 100"],
  [401, "POST /v1/consume", "Host: a", "Content-Length: 100", "Authorization: Bearer wrong"],
  [401, "POST /v1/consume", "Host: a", "Content-Length: 100", "Authorization: Basic secret"],
  [401, "POST /v1/consume", "Host: a", "Content-Length: 5000"],
  [401, "POST /v1/consume", "Host: a", "Transfer-Encoding: chunked"],
  [401, "POST /json", "Host: a", "Content-Length: 100", "Expect: 100-continue"],
  [413, "POST /v1/consume", "Host: a", "Content-Length: 5000", TOKEN],
  [413, "POST /v1/consume", "Host: a", "Content-Length: 5000", "Authorization: bearer secret"],
  [413, "POST /v1/consume", "Host: a", "Content-Length: 5000", "Authorization:  BEARER  secret "],
  [413, "POST /v1/consume", "Host: a", "Content-Length: 5000", "X-Tidegate-Token: secret"],
  [405, "PUT /v1/consume", "Host: a", "Content-Length: 100", TOKEN],
  [404, "POST /nothing", "Host: a", "Content-Length: 100"],
  [403, "POST /v1/consume", "Host: a", "Content-Length: 100", TOKEN, "Origin: http://b"],
  [400, "POST /v1/consume", "Host: a b", "Content-Length: 100"],
  [400, "POST /v1/consume", "Host: a", "Host: a", "Content-Length: 100"],
  [400, "POST /v1/consume", "Host: a", "Content-Length: 5, 5", TOKEN],
  [400, "POST /v1/consume", "Host: a", "Transfer-Encoding: gzip, chunked", TOKEN],
  [417, "GET /healthz", "Host: a", "Expect: 200-ok"],
];

/*
 * Requests at random, of which each part is right or wrong. What a right one is answered follows from
 * its parts. In what a wrong one is answered servers differ, by this list:
 *
 * - a fault of the protocol is a 400, 417, 431 or 505, or ends the connection; which, depends on the
 *   server's parser (node:http's on Node and Deno alike, Bun's own);
 * - where a parser lets something pass that the other refuses, it is answered by its other parts;
 * - `CONNECT` ends the connection on Node and Deno.
 */

/** A part of a request as it is sent, and whether it is right. */
interface Part {
  readonly text: string;
  readonly right: boolean;
}

const parts = (right: boolean, ...texts: string[]) =>
  fc.constantFrom(...texts).map((text): Part => ({ text, right }));

const strange = fc.string({
  unit: fc.constantFrom(...'abc/?#%:@.;=&\\"<>[]{}|^`~ \t\x01\x7f\u00e4'),
  maxLength: 12,
});
const wrong = (before: string) =>
  strange.map((text): Part => ({ text: before + text, right: false }));
const long = (before: string) =>
  fc.constantFrom(7_000, 20_000, 70_000).map((length): Part => {
    return { text: before + "a".repeat(length), right: false };
  });

const METHODS = parts(true, "GET", "POST", "POST", "HEAD", "PUT", "OPTIONS", "DELETE", "PATCH");
const ODD_METHODS = parts(false, "CONNECT", "TRACE", "get", "FOO", "", "G T", "QUERY");
const ROUTES = ["/check", "/v1/consume", "/json", "/healthz", "/metrics", "/v1/live", "/nothing"];
const TARGETS = parts(
  true,
  ...ROUTES,
  ...ROUTES.map((path) => `${path}?a=b`),
  ...ROUTES.map((path) => `http://b:80${path}`),
);
const ODD_TARGETS = parts(false, "*", "", "check", "//check", "/check/", "/%63heck", "/a/../check");
const HOSTS = parts(true, "Host: a", "Host: a:80", "Host: [::1]:80", "Host:");
const ODD_HOSTS = parts(false, "X-No: host", "Host: a\r\nHost: a", "Host: a b", "Host: a:99999");
const BODY = '{"entries":{"address":"a"}}';
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const FRAMES = parts(
  true,
  "\r\n\r\n",
  `\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  `\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
);
const ODD_FRAMES = parts(
  false,
  ...["-1", "+5", "abc", "1e3", "0x10", "", "9".repeat(20), "5, 5", "3", "5000"].map((length) =>
    `\r\nContent-Length: ${length}\r\n\r\n${BODY}`
  ),
  ...["identity", "gzip, chunked", "chunked, gzip", "xchunked", "\x0bchunked"].map((coding) =>
    `\r\nTransfer-Encoding: ${coding}\r\n\r\n${CHUNKS}`
  ),
  ...["zz", "-1", "FFFFFFFFFFFFFFFFF", " 1b", "1b;a=b"].map((size) =>
    `\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${BODY}\r\n0\r\n\r\n`
  ),
  `\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
  `\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${CHUNKS}`,
  `\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n${"x".repeat(2_000)}\r\n0\r\n\r\n`,
  ...["X A: b", "X-A : b", ": b", "X-A", "X-A: a\0b", " folded", "Expect: 200-ok"].map((line) =>
    `\r\n${line}\r\n\r\n`
  ),
);

const VERSIONS = parts(true, "HTTP/1.1");
const ODD_VERSIONS = parts(false, "HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "http/1.1", "HTTP/1", "");
const TOKENS = parts(true, TOKEN, "Authorization: bearer secret", "X-Tidegate-Token: secret");
const ODD_TOKENS = parts(true, "X-No: token", "Authorization: Bearer wrong", "Authorization: x");

const mostly = (right: fc.Arbitrary<Part>, ...odd: fc.Arbitrary<Part>[]) =>
  fc.oneof({ weight: 8, arbitrary: right }, ...odd);
const requests = fc.record({
  method: mostly(METHODS, ODD_METHODS),
  target: mostly(TARGETS, ODD_TARGETS, wrong("/"), wrong(""), long("/")),
  version: mostly(VERSIONS, ODD_VERSIONS),
  host: mostly(HOSTS, ODD_HOSTS, wrong("Host: "), long("X-A: ")),
  token: fc.oneof(TOKENS, ODD_TOKENS),
  frame: mostly(FRAMES, ODD_FRAMES),
});
type Parts = typeof requests extends fc.Arbitrary<infer Each> ? Each : never;

function textOf({ method, target, version, host, token, frame }: Parts): string {
  const first = `${method.text} ${target.text} ${version.text}`;
  return `${first}\r\n${host.text}\r\nConnection: close\r\n${token.text}${frame.text}`;
}

/** The status for a request whose parts are right. */
function expectedOf({ method: { text: method }, target, token, frame }: Parts): number {
  const path = target.text.replace(/^http:\/\/[^/]*/, "").replace(/\?.*$/, "");
  const mayWrite = token.text.includes("secret");
  const reads = method === "GET" || method === "HEAD";
  if (path === "/check") return mayWrite ? 429 : 401;
  if (path === "/v1/consume" || path === "/json") {
    if (method !== "POST") return 405;
    if (!mayWrite) return 401;
    return frame.text.includes(BODY) && path === "/v1/consume" ? 200 : 400;
  }
  if (path === "/nothing") return 404;
  return reads ? 200 : 405;
}

const FAULTS: readonly (number | undefined)[] = [400, 417, 431, 505, undefined];

/** Requires the same answer of all runtimes, and that nothing wrong gets in. */
function checkAnswer(request: Parts, status: number | undefined): void {
  const shown = JSON.stringify(textOf(request).slice(0, 500));
  const { token, ...others } = request;
  if (Object.values(others).every(({ right }) => right)) {
    return assert.equal(status, expectedOf(request), shown);
  }
  if (FAULTS.includes(status)) return;
  // Passed by a parser: then nothing that needs the token, or is limited, has let it in.
  const isOpen = !/check|v1\/consume|json/.test(request.target.text);
  const hasToken = token.text.includes("secret");
  assert.ok(
    [401, 403, 404, 405, 413, 429].includes(status!) || isOpen ||
      (hasToken && /v1\/consume/.test(request.target.text)),
    `${status} to ${shown}`,
  );
}

/** The servers: the server of one thread, and the server that threads share. */
for (const threads of [1, 2]) {
  test(`what a head refuses is refused before its body is there, and whatever comes is answered alike on all runtimes, by ${threads} threads`, () =>
    withFront(async (port) => {
      const seen = await Promise.all(HEADS.map(([, first, ...lines]) => {
        return statusOf(port, `${[`${first} HTTP/1.1`, ...lines].join("\r\n")}\r\n\r\n`);
      }));
      assert.deepEqual(seen, HEADS.map(([status]) => status));
      await fc.assert(
        fc.asyncProperty(fc.array(requests, { minLength: 10, maxLength: 10 }), async (list) => {
          await Promise.all(list.map(async (request) => {
            checkAnswer(request, await statusOf(port, textOf(request)));
          }));
        }),
        fcOptions({ numRuns: 50 }),
      );
    }, threads));
}
