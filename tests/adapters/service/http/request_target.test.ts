import assert from "node:assert/strict";
import { test } from "node:test";

import { type RawRequest, rawRequest } from "../../../support/raw_request.ts";
import { LOGIN_FORMS } from "../support/login_forms.ts";
import { oneRule, withService } from "../support/running.ts";

const rules = () => oneRule("address", 1, [{ descriptors: [{ address: "{address}" }] }]);

/** Ways to ask for `/check`. */
const VALID: readonly RawRequest[] = [
  { version: "1.0", host: null },
  { version: "1.0", host: "" },
  { version: "1.0", host: "a" },
  { host: "" },
  { host: "a" },
  { host: "a.b-c_d:80" },
  { host: "a:" },
  { host: "[::1]:8080" },
  { host: "a%2fmetrics" },
  { host: "a", path: "/check?from=nginx" },
  { host: "a", path: "/check?to=http://b/healthz" },
  { version: "1.0", host: null, path: "/check?to=http://b/healthz" },
  { host: "a", path: "http://b/check" },
  { host: "a", path: "HTTP://b:8080/check" },
  { host: "a", path: "http://b:99999/check" },
  { host: "a", path: "http://u:p@b/check" },
  { version: "1.0", host: null, path: "http://b/check" },
];

/** Ways to ask for `/check` with an invalid Host. */
const INVALID_HOSTS: readonly string[] = [
  "a b",
  "a:99999",
  "a:b",
  ":80",
  "a/metrics?",
  "a/healthz",
  "a?/healthz",
  "a#",
  "a\\healthz",
  "a@b",
  "a%2",
  "a, b",
  "[::1",
  "[x]",
  "/",
  "?",
  "//healthz",
  "http://a/healthz",
  "\u00e4",
];

/** Targets without a path, and with another path than `/check`. */
const OTHER_TARGETS: readonly string[] = [
  "*",
  "check",
  "a:80",
  "ftp://a/check",
  "http:///check",
  "http:/check",
  "/x://a/check",
  "//check",
  "/%63heck",
  "/check/",
  "/check\\",
  "/check#/check",
];

/** The requests with a wrong status. It is `undefined` if the server ended the connection. */
async function wrongOf(
  port: number,
  requests: readonly RawRequest[],
  isRight: (status: number | undefined) => boolean,
): Promise<readonly string[]> {
  const wrong = await Promise.all(requests.map(async (request) => {
    const answered = rawRequest(port, { path: "/check", ...request });
    const status = await answered.then(({ status }) => status, () => undefined);
    return isRight(status) ? [] : [`${status} to ${JSON.stringify(request)}`];
  }));
  return wrong.flat();
}

for (const [refusal, token] of [[429, undefined], [401, "secret"]] as const) {
  const caller = token === undefined ? "a client over its limit" : "a client without the token";
  test(`the path of a request is that of its target, and ${caller} is refused`, () =>
    withService(async ({ port }) => {
      // Uses the limit up, where no token is asked for.
      await rawRequest(port, { path: "/check" });
      assert.deepEqual(await wrongOf(port, VALID, (status) => status === refusal), []);
      const hosts = INVALID_HOSTS.map((host) => ({ host }));
      assert.deepEqual(await wrongOf(port, hosts, (status) => status === 400), []);
      const targets = OTHER_TARGETS.map((path) => ({ path, host: "a" }));
      const isRefused = (status = 400) => status >= 400 && status < 500;
      assert.deepEqual(await wrongOf(port, targets, isRefused), []);
    }, { rules: rules(), token }));
}

test("a path is counted as the servers behind a proxy take it, and HEAD as GET", () =>
  withService(async ({ port }) => {
    const ask = async (method: string, path: string) => {
      const lines = [`X-Original-URI: ${path}`, `X-Original-Method: ${method}`];
      const { status, body } = await rawRequest(port, { path: "/check?from=nginx", lines });
      return { status, body };
    };
    assert.equal((await ask("GET", "/login")).status, 200);
    for (const path of [...LOGIN_FORMS, "/\\login", "/login?a=/../b", "/login#a"]) {
      for (const method of ["GET", "HEAD"]) {
        assert.equal((await ask(method, path)).status, 429, `${method} ${path}`);
      }
    }
    for (const path of ["/logi", "/log/in", "/login/a", "/login%252f", "/"]) {
      assert.equal((await ask("GET", path)).status, 200, path);
    }
    for (const path of ["login", "http://host/login", "http://host/x/..;a/login"]) {
      assert.equal((await ask("GET", path)).status, 429, path);
    }
    // Bytes that are not UTF-8 get an answer that nginx does not turn into a 500.
    for (const path of ["/%", "/%zz", "/%ff", "/%C0%AFlogin", "/\xff", "http://host", "*"]) {
      assert.equal((await ask("GET", path)).status, 200, path);
    }
    assert.equal((await ask("GET", "/users/%ff")).status, 200);
    assert.equal((await ask("GET", "/users/%FF")).status, 429);
    assert.equal((await ask("POST", "/login")).status, 200);
    // The captured part of a path is normalised, too, and a pattern may end with a slash.
    assert.equal((await ask("GET", "/users/Ann/")).status, 200);
    assert.equal((await ask("HEAD", "/users/ANN;x")).status, 429);
    assert.equal((await ask("GET", "/static")).status, 200);
    assert.equal((await ask("GET", "/static/")).status, 429);
    assert.equal((await ask("HEAD", "/head")).status, 200);
    assert.equal((await ask("HEAD", "/head")).status, 429);
    assert.equal((await ask("GET", "/head")).status, 200);
  }, {
    rules: oneRule("what", 1, [
      { path: "/login", ignoreCase: true, methods: ["GET"], descriptors: [{ what: "{method}" }] },
      { path: "/Users/:Id", ignoreCase: true, descriptors: [{ what: "{path.Id}" }] },
      { path: "/static/*", descriptors: [{ what: "{path}" }] },
      { path: "/head", methods: ["HEAD"], descriptors: [{ what: "head" }] },
    ]),
  }));

test("a path that can be read in too many ways is refused as over the limit is", () =>
  withService(async ({ port }) => {
    const path = "//x/..;a\\%2f..%2fu/%20;%3bq/./b#".repeat(200);
    for (const status of [401, 403, 429]) {
      const lines = [`X-Original-URI: ${path}`];
      const asked = `/check?from=nginx&status=${status}`;
      const answer = await rawRequest(port, { path: asked, lines });
      assert.equal(answer.status, status);
      assert.match(answer.body, /too many ways/);
    }
  }, { rules: oneRule("what", 1, [{ path: "/login", descriptors: [{ what: "x" }] }]) }));
