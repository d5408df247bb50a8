/*
 * While the service is away, proxies by the files of examples/deploy refuse everybody or admit
 * everybody, as their operator has chosen.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { serve } from "../../../../adapters/service/service.ts";
import { needs } from "../../../support/program.ts";
import { rawRequest } from "../../../support/raw_request.ts";
import { type Proxy, startCaddy, startDeployedNginx } from "../support/proxies.ts";
import { oneRule } from "../support/running.ts";

type Start = (service: string, isOpen: boolean) => Promise<Proxy>;

const PROXIES: readonly (readonly ["nginx" | "caddy", Start])[] = [
  ["nginx", startDeployedNginx],
  ["caddy", (service, isOpen) => startCaddy(service, isOpen ? "Caddyfile.open" : "Caddyfile")],
];

const rules = () => oneRule("address", 2, [{ descriptors: [{ address: "{address}" }] }]);

for (const [name, start] of PROXIES) {
  for (const isOpen of [false, true]) {
    const choice = isOpen ? "admits" : "refuses";
    test(`${name} ${choice} everybody while the service is away`, needs(name), async () => {
      const service = await serve({ rules: rules(), port: 0 });
      const proxy = await start(service.url, isOpen);
      const ask = async () => {
        const lines = ["X-User: victim"];
        const { status, body, values } = await rawRequest(proxy.port, { lines });
        return [status, status === 200 ? body : values("retry-after").length];
      };
      try {
        assert.deepEqual(await ask(), [200, "the page"]);
        assert.deepEqual(await ask(), [200, "the page"]);
        assert.deepEqual(await ask(), [429, 1]);
        await service.stop(100);
        const away = isOpen ? [200, "the page"] : [503, 1];
        assert.deepEqual([await ask(), await ask(), await ask()], [away, away, away]);
        // It comes back, and its limits with it.
        const again = await serve({ rules: rules(), port: service.port });
        assert.deepEqual([await ask(), await ask()], [[200, "the page"], [200, "the page"]]);
        assert.deepEqual(await ask(), [429, 1]);
        await again.stop(100);
      } finally {
        await service.stop(100);
        await proxy.stop();
      }
    });
  }
  test(`${name} hands on no X-User of a client`, needs(name), async () => {
    const rules = oneRule("user", 1, [{ descriptors: [{ user: "{header.x-user}" }] }]);
    const service = await serve({ rules, port: 0 });
    const proxy = await start(service.url, false);
    try {
      for (let times = 0; times < 3; times++) {
        const { status } = await rawRequest(proxy.port, { lines: ["X-User: victim"] });
        assert.equal(status, 200);
      }
      const { decisions } = await service.figures();
      assert.equal(decisions.admitted + decisions.refused, 0);
    } finally {
      await service.stop(100);
      await proxy.stop();
    }
  });
}
