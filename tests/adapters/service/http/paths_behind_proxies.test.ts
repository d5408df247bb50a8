/*
 * Behind real proxies no target reaches a limited page or handler once the limit is spent: fuzzed
 * targets go over sockets to nginx and Caddy, which serve pages of their own by their own rules, and
 * hand requests on to servers as they came or as the proxy has rewritten them.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

import { oneRule, withService } from "../support/running.ts";
import { nginxFrame, type Proxy, startProxy } from "../support/proxies.ts";
import { ROUTERS } from "../../rules/support/node_routers.ts";
import { targets } from "../../rules/support/routed_targets.ts";
import { needs } from "../../../support/program.ts";
import { pipelined } from "../../../support/pipelined.ts";
import { freePort } from "../../../support/redis/free_port.ts";
import { fcOptions } from "../../../support/seed.ts";
import { serveNode } from "../../../support/serve_node.ts";

const PATHS = ["/login", "/search/:q", "/users/:id", "/shops/:shop/all", "/files/*"];
const rules = () =>
  oneRule(
    "address",
    1,
    PATHS.map((path) => ({ path, ignoreCase: true, descriptors: [{ address: "{address}" }] })),
  );

/** Targets for each proxy and server behind it. */
const COUNT = 450;

/** A site of a proxy. One port serves everybody. The other port asks the service first. */
interface Site {
  readonly name: string;
  readonly open: number;
  readonly limited: number;
  /** The server behind it; `undefined` of a site of the proxy's own pages. */
  readonly server: number | undefined;
  /** Whether the proxy passes on a resolved path, in place of the path that came. */
  readonly rewrites: boolean;
}

const BEHIND = ["Express 5", "Fastify, lenient", "Hono"] as const;

async function withSites(
  work: (sites: readonly Site[], reached: number) => Promise<void>,
): Promise<void> {
  const page = await serveNode((_request, response) => void response.end('["page"]'));
  const servers = await Promise.all(BEHIND.map(async (name) => [name, await ROUTERS[name]!()]));
  const ports = async () => ({ open: await freePort(), limited: await freePort() });
  const own = { name: "pages", server: undefined, rewrites: false, ...await ports() };
  const sites: Site[] = [own];
  for (const [name, { port: server }] of servers as [string, { port: number }][]) {
    for (const rewrites of [false, true]) {
      const more = await ports();
      sites.push({ name: `${name}${rewrites ? ", rewritten" : ""}`, server, rewrites, ...more });
    }
  }
  try {
    await work(sites, page.port);
  } finally {
    await Promise.all(
      [page, ...servers.map(([, server]) => server)].map((each) =>
        (each as { close(): Promise<void> }).close()
      ),
    );
  }
}

function portsOf(sites: readonly Site[]): readonly number[] {
  return sites.flatMap(({ open, limited }) => [open, limited]);
}

const NGINX_PAGES = ["= /login", "~ ^/search/[^/]+$", "~ ^/users/[^/]+$", "~ ^/shops/[^/]*/all$"];

function startNginx(service: string, page: number, sites: readonly Site[]): Promise<Proxy> {
  return startProxy("nginx", "SIGQUIT", (folder) => {
    const check = `location = /_limit_of_this_test {
      internal; proxy_pass ${service}/check?from=nginx&status=403; proxy_pass_request_body off;
      proxy_set_header Content-Length ""; proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Original-Method $request_method; proxy_set_header X-Forwarded-For $remote_addr; }`;
    const pass = (port: number, path = "") => `proxy_pass http://127.0.0.1:${port}${path};`;
    const locations = ({ server, rewrites }: Site) =>
      server === undefined
        ? [...NGINX_PAGES, "/files/"].map((each) => `location ${each} { ${pass(page)} }`).join("\n")
        : `location / { ${pass(server, rewrites ? "/" : "")} }`;
    const servers = sites.flatMap((site) => [
      `server { listen 127.0.0.1:${site.open}; ${locations(site)} }`,
      `server { listen 127.0.0.1:${site.limited}; auth_request /_limit_of_this_test; ${check}
        ${locations(site)} }`,
    ]);
    const file = join(folder, "nginx.conf");
    writeFileSync(file, nginxFrame(folder, `root ${folder}/none; ${servers.join("\n")}`));
    return ["-p", folder, "-c", file, "-e", join(folder, "error.log")];
  }, portsOf(sites));
}

function startCaddy(service: string, page: number, sites: readonly Site[]): Promise<Proxy> {
  return startProxy("caddy", "SIGTERM", (folder) => {
    const routes = ({ server, rewrites }: Site) =>
      server === undefined
        ? `reverse_proxy @page 127.0.0.1:${page}
           reverse_proxy @part 127.0.0.1:${page}
           reverse_proxy @shop 127.0.0.1:${page}`
        : `${rewrites ? "rewrite * {path}" : ""}
           reverse_proxy 127.0.0.1:${server}`;
    const pages = `bind 127.0.0.1
      @page path /login /files/*
      @part path_regexp ^/(search|users)/[^/]+$
      @shop path_regexp ^/shops/[^/]*/all$`;
    const check = `forward_auth ${new URL(service).host} {
      uri /check?from=forwarded
    }`;
    const blocks = sites.flatMap((site) => [
      `http://127.0.0.1:${site.open}, http://a:${site.open} {
        ${pages}
        route {
          ${routes(site)}
        }
      }`,
      `http://127.0.0.1:${site.limited}, http://a:${site.limited} {
        ${pages}
        route {
          ${check}
          ${routes(site)}
        }
      }`,
    ]);
    mkdirSync(join(folder, "none"));
    const file = join(folder, "Caddyfile");
    writeFileSync(file, `{\nadmin off\nauto_https off\n}\n${blocks.join("\n")}\n`);
    return ["run", "--adapter", "caddyfile", "--config", file];
  }, portsOf(sites));
}

for (const [name, start] of [["nginx", startNginx], ["caddy", startCaddy]] as const) {
  test(
    `behind ${name} no path reaches a limited handler once the limit is spent`,
    needs(name),
    () =>
      withService((service) =>
        withSites(async (sites, page) => {
          const proxy = await start(service.url, page, sites);
          try {
            const { numRuns, seed } = fcOptions({ numRuns: COUNT });
            const list = fc.sample(targets, { numRuns, seed });
            const [first] = await pipelined(sites[0]!.limited, ["/login"]);
            assert.equal(first?.status, 200);
            for (const { name, open, limited } of sites) {
              const reached = await reachedBy(open, list);
              assert.ok(reached.length > numRuns / 30, `${name}: ${reached.length} of ${numRuns}`);
              assert.deepEqual(await reachedBy(limited, reached), [], name);
            }
          } finally {
            await proxy.stop();
          }
        }), { rules: rules() }),
  );
}

/** The targets that reach a page or a handler. */
async function reachedBy(port: number, list: readonly string[]): Promise<readonly string[]> {
  const answers = await pipelined(port, list);
  return list.filter((_, index) => answers[index]?.status === 200 && answers[index]!.body !== "");
}
