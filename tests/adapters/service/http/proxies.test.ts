import assert from "node:assert/strict";
import { test } from "node:test";

import { objectSource } from "../../../../adapters/rules/rules.ts";
import { needs } from "../../../support/program.ts";
import { rawRequest } from "../../../support/raw_request.ts";
import { LOGIN_FORMS } from "../support/login_forms.ts";
import { startCaddy, startNginx } from "../support/proxies.ts";
import { withService } from "../support/running.ts";

const LIMIT = 25;

/** So slow that nothing comes back within the test. */
const rules = objectSource({
  domain: "front",
  rules: [{ key: "address", limits: [{ limit: LIMIT, period: "1d" }] }],
  routes: [{ path: "/shop/*", methods: ["GET"], descriptors: [{ address: "{address}" }] }],
});

/** What a client might write to be taken for another, or its request for another one. */
const lies = [
  [],
  ["X-Forwarded-For: 203.0.113.7"],
  ["X-Original-URI: /elsewhere", "X-Original-Method: PUT"],
  ["X-Forwarded-Uri: /elsewhere", "X-Forwarded-Method: PUT"],
];
const paths = ["/shop/1", "//shop/1", "/%73hop/1", "/x/../shop/1"];

test(
  "Caddy with forward_auth lets exactly the limit through, whatever clients write",
  needs("caddy"),
  () =>
    withService(async (service) => {
      const caddy = await startCaddy(service.url);
      try {
        const answers = await Promise.all(
          Array.from({ length: 3 * LIMIT }, (_, place) =>
            rawRequest(caddy.port, {
              path: paths[place % paths.length]!,
              lines: lies[(place >> 2) % lies.length]!,
            })),
        );
        const passed = answers.filter(({ status }) => status === 200);
        const refused = answers.filter(({ status }) => status === 429);
        assert.equal(passed.length, LIMIT);
        assert.equal(refused.length, 2 * LIMIT);
        assert.ok(passed.every(({ body }) => body === "the page"));
        assert.ok(refused.every(({ values }) => Number(values("retry-after")[0]) > 0));
        assert.equal((await fetch(`${caddy.url}/elsewhere`)).status, 200);
      } finally {
        await caddy.stop();
      }
    }, { rules }),
);

test(
  "nginx with auth_request lets exactly the limit through",
  needs("nginx"),
  () =>
    withService(async (service) => {
      const nginx = await startNginx(service.url);
      try {
        const answers = await Promise.all(
          Array.from({ length: 3 * LIMIT }, async (_, place) => {
            const response = await fetch(`${nginx.url}/shop/${place}`, {
              headers: { "x-forwarded-for": `203.0.113.${place}` },
            });
            const { status, headers } = response;
            return { status, headers, body: await response.text() };
          }),
        );
        const passed = answers.filter(({ status }) => status === 200);
        const refused = answers.filter(({ status }) => status === 429);
        assert.equal(passed.length, LIMIT);
        assert.equal(refused.length, 2 * LIMIT);
        assert.ok(passed.every(({ body }) => body === "the page\n"));
        assert.ok(passed.every(({ headers }) => /r=\d+/.test(headers.get("ratelimit") ?? "")));
        for (const { headers } of refused) {
          const wait = Number(headers.get("retry-after"));
          assert.ok(wait > 0 && wait <= 86_400 / LIMIT, String(wait));
        }
        const free = await fetch(`${nginx.url}/elsewhere`);
        assert.equal(free.status, 200);
        await free.text();
      } finally {
        await nginx.stop();
      }
    }, { rules }),
);

/** What is usual of `proxy_set_header Host`, and of the version of HTTP; the first is that of the docs. */
const HOST_LINES: readonly string[] = [
  "",
  "proxy_set_header Host $host;",
  "proxy_set_header Host $http_host;",
  "proxy_set_header Host $proxy_host;",
  'proxy_set_header Host "";',
  "proxy_http_version 1.0; proxy_set_header Host $http_host;",
  'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;',
];

test(
  "behind nginx a client over its limit gets no page by any form of the path, whatever its Host line",
  needs("nginx"),
  () =>
    withService(async (service) => {
      const version = { version: "1.0", host: null } as const;
      for (const line of HOST_LINES) {
        const nginx = await startNginx(service.url, line);
        try {
          const ask = async (path: string, form: object) => {
            try {
              return (await rawRequest(nginx.port, { path, ...form })).status;
            } catch {
              return undefined;
            }
          };
          // The client of the first line uses the limit up; that the page is there at all shows one
          // that has no rule.
          await ask("/login", {});
          assert.equal(await ask("/elsewhere", {}), 200);
          const forms = LOGIN_FORMS.flatMap((path) =>
            [{}, { method: "HEAD" }, { host: "b:80" }, version].map((form) => ({ path, form }))
          );
          const passed = await Promise.all(forms.map(async ({ path, form }) => {
            const status = await ask(path, form);
            return status !== undefined && status < 400 ? [`${status} to ${path}`] : [];
          }));
          assert.deepEqual(passed.flat(), [], line);
        } finally {
          await nginx.stop();
        }
      }
    }, {
      rules: objectSource({
        domain: "front",
        rules: [{ key: "address", limits: [{ limit: 1, period: "1d" }] }],
        routes: [{
          path: "/login",
          ignoreCase: true,
          methods: ["GET"],
          descriptors: [{ address: "{address}" }],
        }],
      }),
    }),
);

test(
  "a client of HTTP/1.0 passes no limit where nginx hands its Host on",
  needs("nginx"),
  () =>
    withService(async (service) => {
      const upstream = "proxy_http_version 1.0; proxy_set_header Host $host;";
      const nginx = await startNginx(service.url, upstream);
      try {
        const request = { version: "1.0", host: null, path: "/shop/1" } as const;
        const answers = await Promise.all(
          Array.from({ length: 2 * LIMIT }, () => rawRequest(nginx.port, request)),
        );
        const statuses = answers.map(({ status }) => status).sort();
        assert.deepEqual(statuses, [...Array(LIMIT).fill(200), ...Array(LIMIT).fill(429)]);
      } finally {
        await nginx.stop();
      }
    }, { rules }),
);
