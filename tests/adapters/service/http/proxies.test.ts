import assert from "node:assert/strict";
import { test } from "node:test";

import { objectSource } from "../../../../adapters/rules/rules.ts";
import { needs } from "../../../support/program.ts";
import { rawRequest } from "../../../support/raw_request.ts";
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
