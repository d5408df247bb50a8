import assert from "node:assert/strict";
import { test } from "node:test";

import { serve } from "../../../adapters/service/service.ts";
import { needs } from "../../support/program.ts";
import { serveNode } from "../../support/serve_node.ts";
import { startDeployedNginx } from "../service/support/proxies.ts";
import { oneRule } from "../service/support/running.ts";
import { run } from "./support/run_command.ts";

const rules = (path: string) =>
  oneRule("address", 3, [{ path, ignoreCase: true, descriptors: [{ address: "{address}" }] }]);

test(
  "the doctor finds no fault behind nginx as we deploy it, and names the clients that bypass nginx",
  needs("nginx"),
  async () => {
    const service = await serve({ rules: rules("/index.html"), port: 0 });
    const proxy = await startDeployedNginx(service.url);
    try {
      const { status, printed } = await run("doctor", `${proxy.url}/index.html`);
      assert.equal(status, 0, printed);
      assert.match(printed, /refuses after 3 requests\n\d+ requests sent; nothing slipped past$/);
      await service.stop(100);
      const away = await run("doctor", `${proxy.url}/index.html`, "--away");
      assert.match(away.printed, /is closed: nobody is served \(status 503\)$/);
    } finally {
      await service.stop(100);
      await proxy.stop();
    }
  },
);

test(
  "the doctor finds the requests that bad configurations let pass, and the clients that they lock out together",
  needs("nginx"),
  async () => {
    const diagnose = async (options: object, change?: (text: string) => string) => {
      const service = await serve({ rules: rules("/index.html"), port: 0, ...options });
      const proxy = await startDeployedNginx(service.url, false, change);
      try {
        const { status, printed } = await run("doctor", `${proxy.url}/index.html`);
        assert.equal(status, 1, printed);
        return printed;
      } finally {
        await service.stop(100);
        await proxy.stop();
      }
    };
    // The client's own word on its address.
    const believed = await diagnose(
      {},
      (text) =>
        text.replace("X-Forwarded-For $remote_addr", "X-Forwarded-For $http_x_forwarded_for"),
    );
    assert.match(believed, /\nslips past: the field X-Forwarded-For\n/);
    assert.match(believed, /\nslips past: many addresses in X-Forwarded-For\n/);
    assert.match(believed, /\nyou ask from this machine, which the server may trust as a proxy/);
    // The path that the proxy is asked for, in place of the request's.
    const forged = await diagnose(
      {},
      (text) =>
        text.replace(
          "X-Original-URI $request_uri",
          "X-Original-URI $http_x_original_uri$request_uri",
        ),
    );
    assert.match(forged, /\nslips past: the field X-Original-URI\n/);
    const shared = await diagnose({ trustedProxies: ["192.0.2.0/24"] });
    assert.match(shared, /a client of another address is refused as well: all share one limit/);
  },
);

test("the doctor sends no more requests than it may, and to nobody else", async () => {
  let count = 0;
  let limit = Infinity;
  const server = await serveNode((_request, response) => {
    count++;
    if (count > limit) return void response.writeHead(429).end();
    response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
  });
  try {
    const url = `http://127.0.0.1:${server.port}/`;
    const { status, printed } = await run("doctor", url, "--requests", "20");
    assert.equal(status, 1);
    assert.match(printed, /^no limit was met within 20 requests/);
    assert.equal(count, 20);
    limit = 2;
    count = 0;
    const few = await run("doctor", url, "--requests", "10");
    assert.equal(few.status, 1);
    assert.match(few.printed, /10 requests sent; nothing slipped past\nnot everything was tried/);
    assert.equal(count, 10);
  } finally {
    await server.close();
  }
});
