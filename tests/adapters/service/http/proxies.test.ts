import assert from "node:assert/strict";
import { test } from "node:test";

import { objectSource } from "../../../../adapters/rules/rules.ts";
import { needs } from "../../../support/program.ts";
import { rawRequest } from "../../../support/raw_request.ts";
import { LOGIN_FORMS } from "../support/login_forms.ts";
import { type Proxy, startCaddy, startDeployedNginx, startNginx } from "../support/proxies.ts";
import { oneRule, withService } from "../support/running.ts";

const LIMIT = 25;

/** So slow that nothing comes back within the test. */
const descriptors = [{ address: "{address}" }];
const rules = oneRule("address", LIMIT, [{ path: "/shop/*", methods: ["GET"], descriptors }]);

/** Header lines by which a client might pose as another client, or disguise its request. */
const lies = [
  [],
  ["X-Forwarded-For: 203.0.113.7"],
  ["X-Original-URI: /elsewhere", "X-Original-Method: PUT"],
  ["X-Forwarded-Uri: /elsewhere", "X-Forwarded-Method: PUT"],
];
const paths = ["/shop/1", "//shop/1", "/%73hop/1", "/x/../shop/1"];

/** Works with a proxy that is starting, and ends it. */
async function withProxy(
  starting: Promise<Proxy>,
  work: (proxy: Proxy) => Promise<void>,
): Promise<void> {
  const proxy = await starting;
  try {
    await work(proxy);
  } finally {
    await proxy.stop();
  }
}

const PROXIES = [["caddy", startCaddy, "the page"], ["nginx", startNginx, "the page\n"]] as const;

for (const [name, start, page] of PROXIES) {
  test(
    `${name} lets exactly the limit through, whatever clients write`,
    needs(name),
    () =>
      withService((service) =>
        withProxy(start(service.url), async (proxy) => {
          const answers = await Promise.all(
            Array.from({ length: 3 * LIMIT }, (_, index) =>
              rawRequest(proxy.port, {
                path: paths[index % paths.length]!,
                lines: lies[(index >> 2) % lies.length]!,
              })),
          );
          const passed = answers.filter(({ status }) => status === 200);
          const refused = answers.filter(({ status }) => status === 429);
          const others = answers.filter(({ status }) => status !== 200 && status !== 429);
          assert.deepEqual(others, []);
          assert.deepEqual([passed.length, refused.length], [LIMIT, 2 * LIMIT]);
          assert.ok(passed.every(({ body }) => body === page));
          for (const { values } of refused) {
            const wait = Number(values("retry-after")[0]);
            assert.ok(wait > 0 && wait <= 86_400 / LIMIT, String(wait));
          }
          // Only nginx's configuration copies the fields of an answer.
          const hasFields = ({ values }: (typeof passed)[number]) =>
            /r=\d+/.test(values("ratelimit")[0] ?? "");
          if (name === "nginx") assert.ok(passed.every(hasFields));
          assert.equal((await rawRequest(proxy.port, { path: "/elsewhere" })).status, 200);
        }), { rules }),
  );
}

/**
 * The usual lines for the field Host and for the version of HTTP. The first is the one that our docs
 * show.
 */
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
        await withProxy(startNginx(service.url, line), async ({ port }) => {
          const ask = async (path: string, form: object) =>
            await rawRequest(port, { path, ...form }).then(({ status }) => status, () => undefined);
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
        });
      }
    }, {
      rules: oneRule("address", 1, [
        { path: "/login", ignoreCase: true, methods: ["GET"], descriptors },
      ]),
    }),
);

test(
  "nginx by our file passes the fields of the limit on, and refuses with a problem as JSON",
  needs("nginx"),
  () =>
    withService(
      (service) =>
        withProxy(startDeployedNginx(service.url), async (proxy) => {
          for (const status of [200, 429]) {
            const answer = await rawRequest(proxy.port);
            assert.equal(answer.status, status);
            assert.match(answer.values("ratelimit").join(), /^"home";r=0;t=\d+$/);
            assert.deepEqual(answer.values("ratelimit-policy"), ['"home";q=1;w=86400']);
            if (status === 200) continue;
            assert.deepEqual(answer.values("content-type"), ["application/problem+json"]);
            assert.equal(JSON.parse(answer.body).status, 429);
          }
        }),
      {
        rules: objectSource({
          domain: "web",
          routes: [{ path: "/", descriptors: [{ home: "{address}" }] }],
          rules: [{ key: "home", name: "home", limits: [{ limit: 1, period: "1d", burst: 1 }] }],
        }),
      },
    ),
);
