/*
 * The sender of examples/redis_over_http.ts, against an HTTP server that hands the commands of each
 * request to a redis-server, as Upstash does.
 */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";

import { restSender } from "../../../../examples/redis_over_http.ts";
import { gcra, limiter } from "../../../../mod.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";
import { newClient } from "../../../support/redis/new_client.ts";

const TOKEN = "secret";

withRedis("Redis over HTTP", (redis, { storeOf, clientOf }) => {
  let server: Server;
  let url = "";
  let requests = 0;

  before(async () => {
    if (redis() === undefined) return;
    const client = newClient(redis().url);
    client.on("error", () => {});
    await client.connect();
    server = createServer(async (request, response) => {
      requests++;
      const chunks: Uint8Array[] = [];
      for await (const chunk of request) chunks.push(chunk);
      if (request.headers.authorization !== `Bearer ${TOKEN}` || request.url !== "/pipeline") {
        response.writeHead(401).end(JSON.stringify({ error: "Unauthorized" }));
        return;
      }
      const commands: string[][] = JSON.parse(Buffer.concat(chunks).toString());
      const replies = await Promise.all(commands.map((command) =>
        client.sendCommand(command).then(
          (result) => ({ result }),
          ({ message }) => ({ error: message }),
        )
      ));
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(replies));
    });
    server.on("close", () => client.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server?.closeAllConnections();
    server?.close();
  });

  for (const commit of ["auto", "script", "cas"] as const) {
    test(`keeps a limit, a batch in each request, by ${commit}`, async () => {
      const store = storeOf({ commit, timeout: 5_000 }, restSender(url, TOKEN));
      const api = limiter(gcra({ limit: 1, period: "1d", burst: 10 }), { store, prefix: commit });
      await api.peek("a");
      const before = requests;
      const decisions = await Promise.all(Array.from({ length: 40 }, () => api.consume("a")));
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 10);
      assert.ok(requests - before < 10, `${requests - before} requests`);
      // The server has lost its scripts.
      await (await clientOf()).sendCommand(["SCRIPT", "FLUSH"]);
      assert.equal((await api.consume("a")).allowed, false);
    });
  }

  test("reports the command that the server refuses", async () => {
    const store = storeOf({ commit: "auto" }, restSender(url, "wrong"));
    const api = limiter(gcra({ limit: 1, period: "1d", burst: 1 }), { store, prefix: "api" });
    await assert.rejects(api.consume("a"), /401 {"error":"Unauthorized"}/);
  });
});
